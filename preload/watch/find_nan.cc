#include "watch/find_nan.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "live/node_table.h"
#include "live/recorder.h"
#include "live/site_table.h"
#include "live/tensor_table.h"
#include "oom/holder_names.h"
#include "python/bridge.h"
#include "python/interpreter.h"
#include "support/clock.h"
#include "support/copy_text.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/loaded_object.h"
#include "support/message.h"
#include "support/options.h"
#include "support/pages.h"
#include "support/state.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/shared_object_map.h"
#include "torch/metadata/torch_functions.h"
#include "watch/device_checks.h"
#include "watch/element_numbers.h"
#include "watch/finite.h"
#include "watch/nan_report.h"
#include "watch/operation_kinds.h"
#include "watch/operation_trace.h"
#include "watch/possible_findings.h"
#include "watch/steps.h"
#include "watch/storage_marks.h"
#include "watch/tensor_view.h"
#include "watch/value_bounds.h"
#include "watch/value_store.h"
#include "watch/watch.h"

namespace tensorscope::watch {

namespace {

constexpr int kMostDepth = 64;
constexpr uint32_t kMostEntries = 16384;
constexpr int kMostKept = 64;
constexpr int64_t kSmall = 4096;  // elements that are looked at once more rather than remembered

// An argument: a tensor, or a number.
struct Entry {
  const void* impl = nullptr;  // null: a number, or gone
  double number = 0;
  Serial serial = 0;
  uint32_t version = 0;
  int16_t position = 0;
  bool bad_before = false;  // written by this operation, and was not finite
  bool gone = false;        // a tensor that was freed before the operation was over: TorchScript does that
  Mark mark;                // what was known of its values before
  bool is_number() const { return impl == nullptr && !gone; }
};

struct Frame {
  const void* record = nullptr;
  const char* name = nullptr;
  const OperationKind* kind = nullptr;
  uint32_t first = 0, end = 0;  // entries
  uint8_t origin = 0;           // a possible finding that an operation within made
  bool whole = true;            // all entries had room
};

// A result that an operation within computed and that nobody has written since, unless by no operation.
struct Kept {
  const void* impl;
  Serial serial;
};

struct ThreadState {
  Frame frames[kMostDepth];
  int depth = 0;  // may be larger than kMostDepth
  uint32_t entries_used = 0;
  Kept kept[kMostKept];
  int kept_count = 0;
  bool say_now = false;  // once no guard is held
  Entry entries[kMostEntries];
};

constinit thread_local ThreadState* t_operations = nullptr;
pthread_key_t g_thread_key;

struct FindNan {
  // What an optimizer does.
  enum class Scaler : uint8_t { unknown, none, seen };
  std::atomic<Scaler> scaler{Scaler::unknown};
  std::atomic<bool> overflow{false};
  std::atomic<uint32_t> steps{0};
  std::atomic<bool> in_update{false}, backward_seen{false};
  // Counted.
  std::atomic<uint64_t> operations{0}, skipped{0}, unwritten{0};
  std::atomic<bool> device_seen{false};
};

constinit FindNan g_find;
constinit PossibleFindings g_possible;
constinit StorageMarks g_marks;
constinit ValueBounds g_bounds;
constinit FindNanActions g_actions;
constinit std::atomic<bool> g_on{false};
torch::TorchFunctions g_functions;
bool (*g_gradients_enabled)() = nullptr;  // c10::GradMode::is_enabled()

bool stops() { return options().find_nan == FindNanMode::stop; }
ThreadState* this_thread() {
  if (__builtin_expect(t_operations == nullptr, false)) {
    t_operations = static_cast<ThreadState*>(map_pages(sizeof(ThreadState)));
    if (t_operations) pthread_setspecific(g_thread_key, t_operations);
  }
  return t_operations;
}

void end_thread(void* state) {
  t_operations = nullptr;
  unmap_pages(state, sizeof(ThreadState));
}

// --- what torch says of a tensor

bool is_leaf_with_gradient(const void* impl) {
  if (!g_functions.requires_grad || !g_functions.grad || !g_functions.grad_fn || !g_functions.requires_grad(impl)) {
    return false;
  }
  const void* const* gradient = g_functions.grad(impl);
  const void* tensor = impl;
  return gradient && *gradient && *gradient != g_functions.undefined_tensor && g_functions.grad_fn(&tensor) == nullptr;
}

bool view_numbers(const void* impl, TensorView& view) {
  const Readable readable = view_tensor(impl, view);
  if (readable == Readable::device) {
    if (!g_find.device_seen.exchange(true, std::memory_order_relaxed)) {
      set_coverage(Subject::find_nan, Seen::partly, "on devices only results of modules and gradients are checked");
    }
    want_device_checks();
  }
  return readable == Readable::yes && can_be_not_finite(view.dtype);
}

// Whether all of its storage is this tensor: what was known of the storage holds no longer.
bool is_whole_storage(const TensorView& view) {
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] == 0 && view.sizes[i] > 1) return false;
  }
  return view.data == view.storage_data && uint64_t(view.numel) * uint64_t(view.itemsize) >= view.storage_bytes;
}

// --- findings

// What was made within an operation turned out to be meant.
void drop_within(Frame& frame) {
  if (frame.origin != 0) g_possible.drop_within(frame.origin);
  frame.origin = 0;
}

void fill_tensor(const TensorView& view, int position, bool with_values, TensorFacts& out) {
  out = {};
  out.ndim = view.ndim;
  for (int i = 0; i < std::min(view.ndim, TensorFacts::kMostDims); ++i) out.sizes[i] = view.sizes[i];
  out.dtype = view.dtype;
  out.position = position;
  if (with_values) out.known = statistics_of(view, out.statistics);
}

void write_node_class(const void* node, char (&out)[96]) {
  static torch::SharedObjectMap objects;
  static torch::ObjectClasses classes;
  static bool ready = false;
  if (!ready) {
    if (!objects.refresh()) return;
    classes.start(&objects);
    ready = true;
  }
  const char* mangled = classes.of(node);
  const std::string_view name = oom::unqualified(mangled);
  copy_text(name == "PyNode" ? std::string_view("a torch.autograd.Function") : name, out);
}

enum class Overwrites : uint8_t { nothing, changed, whole };  // an argument: of its old values nothing is left

struct Result {
  const void* impl;
  TensorView view;
  int position;
  Overwrites overwrites;
};

constexpr int kMostResults = 64;

struct Results {
  Result all[kMostResults];
  int count = 0;
  void add(const void* impl, int position, Overwrites overwrites) {
    for (int i = 0; i < count; ++i) {
      if (all[i].impl == impl) return;
    }
    if (count == kMostResults) return;
    Result& result = all[count];
    if (!view_numbers(impl, result.view)) {
      const bool written = overwrites != Overwrites::nothing && result.view.storage_data != nullptr;
      if (written) g_bounds.forget(result.view);  // its bits as another dtype's
      return;
    }
    result.impl = impl;
    result.position = position;
    result.overwrites = overwrites;
    ++count;
  }
};

uint32_t step_number() {
  if (options().calls || options().watch != nullptr) return current_step().number;
  return g_find.steps.load(std::memory_order_relaxed);
}

void describe(const ThreadState& thread, const Frame& frame, const Result* const* bad, int bad_count, Cause cause,
              const void* node, Finding& out) {
  out = {};
  out.cause = cause;
  out.step = step_number();
  copy_text(frame.name, out.operation);
  if (thread.depth > 0 && thread.depth <= kMostDepth && &frame != &thread.frames[0]) {
    copy_text(thread.frames[0].name, out.outer);
  }
  for (int i = 0; i < std::min(bad_count, Finding::kMostOutputs); ++i) {
    TensorFacts& tensor = out.outputs[out.output_count++];
    fill_tensor(bad[i]->view, bad[i]->position, true, tensor);
  }
  for (int i = 0; i < bad_count; ++i) {
    Statistics statistics;
    if (i < Finding::kMostOutputs) statistics = out.outputs[i].statistics;
    out.nan = out.nan || statistics.nan != 0;
  }
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    const Entry& entry = thread.entries[i];
    if (entry.gone) continue;
    if (entry.is_number()) {
      if (out.number_count == Finding::kMostNumbers) continue;
      out.numbers[out.number_count] = entry.number;
      out.number_positions[out.number_count++] = entry.position;
      continue;
    }
    TensorView view;
    const Readable readable = view_tensor(entry.impl, view);
    if (readable == Readable::unknown || (readable != Readable::yes && readable != Readable::device)) continue;
    if (out.input_count == Finding::kMostInputs) {
      ++out.more_inputs;
      continue;
    }
    TensorFacts& tensor = out.inputs[out.input_count++];
    bool overwritten = false;
    for (int j = 0; j < bad_count; ++j) overwritten = overwritten || bad[j]->impl == entry.impl;
    fill_tensor(view, entry.position, readable == Readable::yes && !overwritten, tensor);
    tensor.overwritten = overwritten;
  }
  out.phase = node != nullptr ? Phase::backward : Phase::unknown;
  out.stack = stacks::capture_in_any_case();
  if (node != nullptr) {
    write_node_class(node, out.node);
    if (const SiteId site = live::g_nodes.site_at(node); site != 0) out.forward = live::g_sites.stack_of(site);
  } else if (out.phase == Phase::unknown) {
    for (int i = 0; i < bad_count; ++i) {
      if (bad[i]->overwrites != Overwrites::nothing && is_leaf_with_gradient(bad[i]->impl))
        out.phase = Phase::optimizer;
      if (bad[i]->overwrites == Overwrites::nothing && g_functions.requires_grad &&
          g_functions.requires_grad(bad[i]->impl)) {
        out.phase = Phase::forward;
      }
    }
  }
  if (syscall(SYS_gettid) != getpid()) prctl(PR_GET_NAME, out.thread, 0, 0, 0);
}

// --- one operation

void enter_argument(ThreadState& thread, Frame& frame, const void* impl, int position) {
  if (thread.entries_used == kMostEntries) {
    frame.whole = false;
    return;
  }
  Entry& entry = thread.entries[thread.entries_used++];
  entry = {impl, 0, live::g_tensors.serial(impl), version_of(impl), int16_t(position), false, false, {}};
  TensorView view;
  if (g_marks.any() && view_numbers(impl, view)) entry.mark = g_marks.get(view);
}

struct Entering {
  ThreadState* thread;
  Frame* frame;
  int position;
};

// The arguments that it writes: of their old values nothing is left at its end.
void look_at_written(ThreadState& thread, const Frame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    Entry& entry = thread.entries[i];
    TensorView view;
    if (entry.impl == nullptr || entry.position != 0 || !view_numbers(entry.impl, view) || g_marks.is_made(view))
      continue;
    entry.bad_before = any_not_finite(view);
    if (!entry.bad_before) g_marks.set_made(view);
  }
}

// A value that is read by another node than the one that made it was not replaced there.
void look_at_readers(ThreadState& thread, const Frame& frame, const void* node) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.entries[i].impl == nullptr || !view_numbers(thread.entries[i].impl, view)) continue;
    const Mark mark = g_marks.get(view);
    if ((mark.flags & Mark::kBad) == 0 || mark.origin == 0) continue;
    if (!g_possible.waits_for_node(mark.origin, node) || !any_not_finite(view)) continue;
    const bool scaled = g_find.scaler.load(std::memory_order_relaxed) != FindNan::Scaler::none;
    thread.say_now |= g_possible.leave_node(mark.origin, scaled);
  }
}

bool any_needs_gradient(const ThreadState& thread, const Frame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    if (thread.entries[i].impl != nullptr && g_functions.requires_grad(thread.entries[i].impl)) return true;
  }
  return false;
}

// An operation outside of a backward pass: where the optimizer is. It changes parameters that have gradients after a
// backward pass; the next operation on a parameter that records gradients belongs to the next step.
void follow_step(ThreadState& thread, const Frame& frame) {
  if (!g_find.backward_seen.load(std::memory_order_relaxed) || frame.first == frame.end || !g_functions.requires_grad) {
    return;
  }
  if (g_find.in_update.load(std::memory_order_relaxed)) {
    if (g_gradients_enabled == nullptr || !g_gradients_enabled() || !any_needs_gradient(thread, frame)) return;
    g_find.in_update.store(false, std::memory_order_relaxed);
    g_find.backward_seen.store(false, std::memory_order_relaxed);
    g_find.steps.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const void* first = thread.entries[frame.first].impl;
  if (!frame.kind->writes || frame.kind->makes != Makes::computed || first == nullptr ||
      !is_leaf_with_gradient(first)) {
    return;
  }
  g_find.in_update.store(true, std::memory_order_relaxed);
  FindNan::Scaler unknown = FindNan::Scaler::unknown;
  g_find.scaler.compare_exchange_strong(unknown, FindNan::Scaler::none);
  if (g_possible.any_open()) thread.say_now |= g_possible.confirm_held();
}

bool enter_operation(const Operation& operation, const Values& inputs) {
  ThreadState* thread = this_thread();
  const char* name = operation.name();
  if (thread == nullptr || !is_operation(name)) return false;
  const int depth = thread->depth++;
  if (depth >= kMostDepth) return false;
  if (depth == 0) {
    thread->entries_used = 0;
    thread->kept_count = 0;
  }
  Frame& frame = thread->frames[depth];
  frame = {};
  frame.record = operation.record;
  frame.name = name;
  frame.kind = &kind_of(frame.name);
  frame.first = thread->entries_used;
  for (size_t i = 0; i < inputs.count; ++i) {
    const Value& value = inputs.first[i];
    if (value.tag == kDoubleTag || value.tag == kIntTag) {
      if (thread->entries_used == kMostEntries) continue;
      double number;
      if (value.tag == kDoubleTag) {
        memcpy(&number, &value.payload, sizeof number);
      } else {
        number = double(int64_t(value.payload));
      }
      thread->entries[thread->entries_used++] = {nullptr, number, 0, 0, int16_t(i), false, false, {}};
      continue;
    }
    Entering entering = {thread, &frame, int(i)};
    each_tensor(
        value,
        [](const void* impl, void* context) {
          auto* entering = static_cast<Entering*>(context);
          enter_argument(*entering->thread, *entering->frame, impl, entering->position);
        },
        &entering);
  }
  frame.end = thread->entries_used;
  if (frame.kind->writes && frame.kind->makes == Makes::computed) look_at_written(*thread, frame);
  if (depth != 0) return false;

  const void* node = live::running_node_address();
  if (node != nullptr) g_find.backward_seen.store(true, std::memory_order_relaxed);
  if (g_possible.any_open()) look_at_readers(*thread, frame, node);
  if (node == nullptr) follow_step(*thread, frame);
  return thread->say_now;
}

// A loss scaler looked at the gradients of one optimizer: it skips the step where they overflowed.
void scaler_checked(const ThreadState& thread, const Frame& frame) {
  g_find.scaler.store(FindNan::Scaler::seen, std::memory_order_relaxed);
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.entries[i].position != 1 || thread.entries[i].impl == nullptr) continue;
    if (!view_numbers(thread.entries[i].impl, view)) continue;
    Statistics statistics;
    if (!statistics_of(view, statistics) || statistics.maximum == 0) continue;
    g_find.overflow.store(true, std::memory_order_relaxed);
    g_possible.drop_backward();
  }
}

// torch.tensor() takes memory by `empty` and writes it without an operation; a storage that is set comes from a file or
// from another process.
void forget_unwritten(const ThreadState& thread, const Frame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    const void* impl = thread.entries[i].impl;
    if (impl != nullptr && view_numbers(impl, view) && g_marks.get(view).flags == Mark::kUnwritten)
      g_marks.set(view, {});
  }
}

void drop_freed(ThreadState& thread, const Frame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    Entry& entry = thread.entries[i];
    if (entry.impl == nullptr || live::g_tensors.serial(entry.impl) == entry.serial) continue;
    entry.impl = nullptr;
    entry.gone = true;
  }
}

struct Inputs {
  bool bad = false, deliberate = false, unwritten = false, outside = false;
  uint8_t origin = 0;
};

Inputs look_at_inputs(const ThreadState& thread, const Frame& frame, const Results& results) {
  Inputs out;
  for (uint32_t i = frame.first; i < frame.end && !out.bad; ++i) {
    const Entry& entry = thread.entries[i];
    if (entry.gone && (entry.mark.flags & Mark::kBad) != 0) {
      out.bad = true;
      out.origin = entry.mark.origin;
    }
    out.deliberate = out.deliberate || (entry.gone && (entry.mark.flags & Mark::kDeliberate) != 0);
    TensorView view;
    if (entry.impl == nullptr || !view_numbers(entry.impl, view)) continue;
    const Mark mark = g_marks.get(view);
    bool written = false, whole = false;
    for (int j = 0; j < results.count; ++j) {
      if (results.all[j].view.storage != view.storage) continue;
      written = written || results.all[j].overwrites == Overwrites::changed;
      whole = whole || (results.all[j].impl == entry.impl && results.all[j].overwrites == Overwrites::whole);
    }
    if (whole) continue;
    if (written ? !entry.bad_before && mark.flags == 0 : !any_not_finite(view)) continue;
    if ((mark.flags & Mark::kBad) != 0) {
      out.bad = true;
      out.origin = mark.origin;
    } else if ((mark.flags & Mark::kDeliberate) != 0) {
      out.deliberate = true;
    } else if ((mark.flags & Mark::kUnwritten) != 0) {
      out.unwritten = true;
    } else if (written) {
      out.outside = true;
    } else {
      // Infinities that nobody has computed are what a program writes into a mask or begins a search with.
      Statistics statistics;
      statistics_of(view, statistics);
      const bool mask = statistics.nan == 0 && (statistics.positive_infinity == 0 || view.numel == 1);
      (mask ? out.deliberate : out.outside) = true;
    }
  }
  return out;
}

// Some results of this operation are not finite.
void judge(ThreadState& thread, Frame& frame, const Results& results, const Result* const* bad, int bad_count) {
  const auto mark_all = [&](uint8_t flags, uint8_t origin) {
    for (int i = 0; i < bad_count; ++i) g_marks.set(bad[i]->view, {flags, origin});
  };
  const Inputs inputs = look_at_inputs(thread, frame, results);
  if (inputs.bad) return mark_all(Mark::kBad, inputs.origin);
  if (inputs.unwritten && !inputs.outside && frame.origin == 0) {
    g_find.unwritten.fetch_add(1, std::memory_order_relaxed);
    return mark_all(Mark::kUnwritten, 0);
  }
  bool number = false;
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    number = number || (thread.entries[i].is_number() && !std::isfinite(thread.entries[i].number));
  }
  // An infinity that becomes an infinity is still meant: the logarithm of a sum over a masked row.
  const bool placed = number && frame.kind->makes == Makes::placed;
  if ((inputs.deliberate || placed) && !inputs.outside) {
    bool nan = false;
    for (int i = 0; i < bad_count && !placed; ++i) {
      Statistics statistics;
      statistics_of(bad[i]->view, statistics);
      nan = nan || statistics.nan != 0;
    }
    if (!nan) {
      drop_within(frame);
      return mark_all(Mark::kDeliberate, 0);
    }
  }
  if (frame.origin != 0) return mark_all(Mark::kBad, frame.origin);
  if (g_possible.all_said()) {
    g_possible.count_later();
    return mark_all(Mark::kBad, 0);
  }
  const Cause cause = inputs.outside      ? Cause::outside
                      : inputs.deliberate ? Cause::deliberate
                      : number            ? Cause::argument
                                          : Cause::computed;
  struct Described {
    const ThreadState& thread;
    const Frame& frame;
    const Result* const* bad;
    int bad_count;
    Cause cause;
    const void* node;
  } described = {thread, frame, bad, bad_count, cause, live::running_node_address()};
  frame.origin = g_possible.add(
      &thread, described.node,
      [](Finding& out, void* context) {
        const auto& of = *static_cast<const Described*>(context);
        describe(of.thread, of.frame, of.bad, of.bad_count, of.cause, of.node, out);
      },
      &described);
  mark_all(Mark::kBad, frame.origin);
}

bool was_kept(const ThreadState& thread, const Result& result) {
  for (int i = 0; i < thread.kept_count; ++i) {
    if (thread.kept[i].impl == result.impl) return thread.kept[i].serial == live::g_tensors.serial(result.impl);
  }
  return false;
}

void keep(ThreadState& thread, const Result& result) {
  if (thread.kept_count == kMostKept) return;
  thread.kept[thread.kept_count++] = {result.impl, live::g_tensors.serial(result.impl)};
}

// Values that come from arguments keep what is known of them.
void move_marks(const ThreadState& thread, const Frame& frame, const Result& result) {
  Mark mark;
  bool made = true;
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    const void* impl = thread.entries[i].impl;
    if (impl == nullptr || (impl == result.impl && is_whole_storage(result.view) && frame.kind->writes)) continue;
    if (!view_numbers(impl, view)) continue;
    const Mark other = g_marks.get(view);
    mark.flags |= other.flags;
    if (other.origin != 0) mark.origin = other.origin;
    made = made && g_marks.is_made(view);
  }
  g_marks.set(result.view, mark);
  if (made) g_marks.set_made(result.view);
}

bool changes_dtype(const ThreadState& thread, const Frame& frame, const Result& result) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    const void* impl = thread.entries[i].impl;
    if (impl == nullptr || impl == result.impl || !view_numbers(impl, view)) continue;
    if (view.dtype != result.view.dtype) return true;
  }
  return false;
}

void collect_results(const Operation& operation, const ThreadState& thread, const Frame& frame, const Values& outputs,
                     Results& results) {
  struct Collecting {
    const Operation* operation;
    const ThreadState* thread;
    const Frame* frame;
    Results* results;
    int position;
  } collecting = {&operation, &thread, &frame, &results, 0};
  for (size_t i = 0; i < outputs.count; ++i) {
    collecting.position = int(i);
    each_tensor(
        outputs.first[i],
        [](const void* impl, void* context) {
          const auto* to = static_cast<Collecting*>(context);
          Overwrites overwrites = Overwrites::nothing;
          for (uint32_t j = to->frame->first; j < to->frame->end; ++j) {
            const Entry& entry = to->thread->entries[j];
            if (entry.impl != impl) continue;
            if (to->frame->kind->writes) {
              overwrites = to->frame->kind->replaces ? Overwrites::whole : Overwrites::changed;
            } else if (entry.version != version_of(impl) || to->operation->writes_out()) {
              overwrites = Overwrites::whole;
            } else {
              return;  // given back as it was
            }
            break;
          }
          to->results->add(impl, to->position, overwrites);
        },
        &collecting);
  }
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    const Entry& entry = thread.entries[i];
    if (entry.impl == nullptr) continue;
    const bool first = frame.kind->writes && entry.position == 0;
    if (first || entry.version != version_of(entry.impl)) {
      results.add(entry.impl, entry.position, frame.kind->writes ? Overwrites::changed : Overwrites::whole);
    }
  }
}

// A result in the memory of an argument computes nothing.
bool is_view(const ThreadState& thread, const Frame& frame, const Result& result) {
  if (result.overwrites != Overwrites::nothing) return false;
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.entries[i].impl == nullptr || view_tensor(thread.entries[i].impl, view) != Readable::yes) continue;
    if (view.storage == result.view.storage) return true;
  }
  return false;
}

// Whether bounds are kept for its allocation: small tensors are read.
bool is_bounded(const TensorView& view) { return view.storage_bytes > uint64_t(kSmall) * uint64_t(view.itemsize); }

Power bound_of_argument(const TensorView& view, int dtype) {
  if (view.numel <= kSmall) {
    Power power;
    return any_not_finite(view, power) ? kNoPower : power;
  }
  return view.dtype == dtype && g_marks.get(view).flags == 0 ? g_bounds.get(view) : kNoPower;
}

// What is known of a result without reading it.
Power bound_of(const ThreadState& thread, const Frame& frame, const Result& result) {
  constexpr size_t kMost = 32;
  if (!is_bounded(result.view) || frame.kind->bound == Bound::none || frame.end - frame.first > kMost) return kNoPower;
  BoundArgument arguments[kMost];
  size_t count = 0;
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    const Entry& entry = thread.entries[i];
    if (entry.impl == result.impl && frame.kind->replaces) continue;
    BoundArgument& argument = arguments[count++];
    argument.position = entry.position;
    argument.is_number = entry.is_number();
    argument.number = entry.number;
    TensorView view;
    if (entry.impl == nullptr || view_tensor(entry.impl, view) != Readable::yes) continue;
    if (view.numel == 1) {  // a number of the program, or one that counts as such
      argument.is_number = numbers_of(view.dtype, view.data, 1, &argument.number);
    } else if (can_be_not_finite(view.dtype)) {
      argument.power = bound_of_argument(view, result.view.dtype);
    }
  }
  return bound_of_result(frame.kind->bound, result.view.dtype, arguments, count);
}

void keep_bound(const Result& result, Power power) {
  if (!is_bounded(result.view)) return;
  if (is_whole_storage(result.view)) {
    g_bounds.set(result.view, power);
  } else {
    g_bounds.widen(result.view, power);
  }
}

// Others' operations: what they write, and when, is not known.
void forget_bounds(const ThreadState& thread, const Frame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.entries[i].impl != nullptr && view_numbers(thread.entries[i].impl, view)) g_bounds.forget(view);
  }
}

bool look_at_result(ThreadState& thread, const Frame& frame, const Result& result) {
  Makes makes = frame.kind->makes;
  if (makes == Makes::moved && changes_dtype(thread, frame, result)) makes = Makes::computed;
  switch (makes) {
    case Makes::uninitialised:
      if (result.overwrites == Overwrites::nothing) g_marks.set(result.view, {Mark::kUnwritten, 0});
      return false;
    case Makes::finite:
      if (is_whole_storage(result.view)) g_marks.set(result.view, {});
      g_marks.set_made(result.view);
      keep_bound(result, bound_of(thread, frame, result));
      return false;
    case Makes::given:
    case Makes::nothing:
      return false;
    case Makes::moved:
      move_marks(thread, frame, result);
      keep_bound(result, bound_of(thread, frame, result));
      return false;
    case Makes::computed:
    case Makes::placed:
      break;
  }
  const bool large = result.view.numel > kSmall;
  if (large && was_kept(thread, result)) return (g_marks.get(result.view).flags & Mark::kBad) != 0;
  Power power = large && makes == Makes::computed ? bound_of(thread, frame, result) : kNoPower;
  const bool bad = power == kNoPower && any_not_finite(result.view, power);
  keep_bound(result, bad ? kNoPower : power);
  if (!bad && (result.overwrites == Overwrites::nothing || is_whole_storage(result.view))) g_marks.set(result.view, {});
  g_marks.set_made(result.view);
  if (large && makes == Makes::computed && thread.depth > 0) keep(thread, result);
  return bad;
}

bool leave_operation(const Operation& operation, const Values& outputs) {
  ThreadState* thread = t_operations;
  if (thread == nullptr || thread->depth == 0) return false;
  if (thread->depth > kMostDepth) {
    --thread->depth;
    return false;
  }
  // An operation may have begun while nothing was recorded.
  int depth = thread->depth - 1;
  while (depth >= 0 && thread->frames[depth].record != operation.record) --depth;
  if (depth < 0) return false;
  thread->depth = depth;
  Frame& frame = thread->frames[depth];
  g_find.operations.fetch_add(1, std::memory_order_relaxed);
  drop_freed(*thread, frame);
  if (frame.kind->checks_scale) scaler_checked(*thread, frame);
  if (frame.kind->makes == Makes::given) forget_unwritten(*thread, frame);
  if (frame.kind->updates_scale && g_find.overflow.exchange(false)) g_find.skipped.fetch_add(1);

  Results results;
  if (frame.whole) collect_results(operation, *thread, frame, outputs, results);
  const Result* bad[kMostResults];
  int bad_count = 0;
  for (int i = 0; i < results.count; ++i) {
    const Result& result = results.all[i];
    if (is_view(*thread, frame, result)) continue;
    if (look_at_result(*thread, frame, result)) bad[bad_count++] = &result;
  }
  if (frame.kind->foreign) forget_bounds(*thread, frame);
  if (bad_count != 0) judge(*thread, frame, results, bad, bad_count);
  if (depth != 0) {
    if (frame.origin != 0) thread->frames[depth - 1].origin = frame.origin;
    thread->entries_used = frame.first;
  } else {
    if (frame.origin != 0) thread->say_now |= g_possible.settle(thread, bad_count != 0);
  }
  return thread->say_now;
}

// --- saying it, and what follows

// Names of modules are in Python; this thread does not hold the GIL while an operation runs, or lends it.
void name_module(Finding& finding) {
  constexpr unsigned kWaitMs = 1000, kHoldMs = 3000;
  const uint64_t module = finding.module != 0 ? finding.module : finding.forward_module;
  if (module == 0 || !options().names || !python::interpreter_alive()) return;
  python::LookCosts costs = python::LookCosts::allowed();
  costs.wait_ms = std::min(costs.wait_ms, kWaitMs);
  costs.hold_ms = std::min(costs.hold_ms, kHoldMs);
  const python::ProgramFacts found = python::look_at_program(costs, {});
  for (const python::ModuleName& name : found.names.modules) {
    if (name.object != module) continue;
    copy_text(name.path, finding.module_path);
    copy_text(name.class_name, finding.module_class);
  }
}

constinit FindingText g_text;

void say_finding() {
  Finding& finding = g_possible.to_say();
  explain_stacks(finding);
  name_module(finding);
  g_text.size = 0;
  write_finding(finding, g_text);
  write_standard_error(g_text.text, g_text.size);
  flatbuffers::FlatBufferBuilder builder(4096);
  write_finding_chunk(finding, monotonic_ns(), builder);
  add_finding(builder.GetBufferPointer(), builder.GetSize());
}

// sys.exit() in the main thread, as soon as it runs Python again.
int leave_python(void*) {
  void (*set_object)(void*, void*) = nullptr;
  void* (*from_long)(long) = nullptr;
  void** system_exit = nullptr;
  if (!resolve("PyErr_SetObject", set_object) || !resolve("PyLong_FromLong", from_long) ||
      !resolve("PyExc_SystemExit", system_exit)) {
    return 0;
  }
  set_object(*system_exit, from_long(kFoundNanStatus));
  return -1;
}

void stop_program() {
  int (*add_pending_call)(int (*)(void*), void*) = nullptr;
  if (python::interpreter_alive() && resolve("Py_AddPendingCall", add_pending_call) &&
      add_pending_call(leave_python, nullptr) == 0) {
    return;
  }
  finish_find_nan();
  finish();
  fflush(nullptr);
  _exit(kFoundNanStatus);
}

// No guard is held: a dump may look at this thread.
void outside() {
  ThreadState* thread = t_operations;
  if (thread == nullptr || !thread->say_now) return;
  thread->say_now = false;
  const int saved_errno = errno;
  {
    const InsideScope inside;
    run_if_memory_lasts([] { say_finding(); });
  }
  g_possible.said_it();
  if (options().find_nan_dump && g_actions.write_dump) g_actions.write_dump();
  if (stops() && g_possible.close()) stop_program();
  errno = saved_errno;
}

void take_device_finding(const DeviceFinding& found) {
  ThreadState* thread = this_thread();
  if (thread == nullptr) return;
  thread->say_now |= g_possible.confirm_at_once(
      [](Finding& out, void* context) {
        const auto& found = *static_cast<const DeviceFinding*>(context);
        out = {};
        out.cause = found.gradient ? Cause::device_gradient : Cause::device_result;
        out.phase = found.gradient ? Phase::backward : Phase::forward;
        out.nan = found.nan;
        out.step = found.step;
        out.module = found.module;
        copy_text(found.gradient ? "gradient on a device" : "result of a module on a device", out.operation);
        copy_text(found.parameter, out.parameter);
      },
      const_cast<DeviceFinding*>(&found));
  const python::ReleasedGil released;
  outside();
}

}  // namespace

void start_find_nan(const FindNanActions& actions) {
  if (options().find_nan == FindNanMode::off) {
    return set_coverage(Subject::find_nan, Seen::not_applicable, "");
  }
  g_actions = actions;
  const bool resolved = torch::resolve_torch_functions(g_functions);
  resolve("_ZN3c108GradMode10is_enabledEv", g_gradients_enabled);
  const char* why = "no memory for the records of threads";
  if (resolved && pthread_key_create(&g_thread_key, end_thread) == 0)
    why = trace_operations({enter_operation, leave_operation, outside});
  if (why != nullptr) {
    say("--find-nan is off: %s", why);
    return set_coverage(Subject::find_nan, Seen::no, why);
  }
  start_device_checks(take_device_finding);
  g_on.store(true, std::memory_order_release);
  set_coverage(Subject::find_nan, Seen::yes, "");
}

void finish_find_nan() {
  if (!g_on.exchange(false)) return;
  const InsideScope inside;
  ThreadState* thread = this_thread();
  if (thread != nullptr) {
    thread->say_now |= g_possible.confirm_held();
    if (thread->say_now) {
      thread->say_now = false;
      run_if_memory_lasts([] { say_finding(); });
    }
  }
  const bool nan = g_possible.said_nan(), infinity = g_possible.said_infinity();
  char more[256] = "";
  if (const uint64_t skipped = g_find.skipped.load(); skipped != 0) {
    snprintf(more, sizeof more, "; %llu step%s skipped by loss scaling", (unsigned long long)skipped,
             skipped == 1 ? "" : "s");
  }
  if (const uint64_t unwritten = g_find.unwritten.load(); unwritten != 0) {
    snprintf(more + strlen(more), sizeof more - strlen(more), "; %llu operation%s read memory that nobody had written",
             (unsigned long long)unwritten, unwritten == 1 ? "" : "s");
  }
  if (g_find.device_seen.load() && !device_checks_run()) {
    snprintf(more + strlen(more), sizeof more - strlen(more), "; tensors on devices were not checked");
  } else if (g_find.device_seen.load()) {
    snprintf(more + strlen(more), sizeof more - strlen(more),
             "; %llu results of modules and gradients on devices checked", (unsigned long long)device_checks());
  }
  if (nan || infinity) {
    const uint64_t later = g_possible.later();
    say("--find-nan: found, see above; %llu later origin%s, %llu operations checked%s", (unsigned long long)later,
        later == 1 ? "" : "s", (unsigned long long)g_find.operations.load(), more);
  } else {
    say("--find-nan: no NaN or infinity made by %llu operations%s", (unsigned long long)g_find.operations.load(), more);
  }
}

void reset_find_nan_after_fork() {
  g_possible.reset_after_fork();
  g_find.operations.store(0);
}

}  // namespace tensorscope::watch
