// SPDX-License-Identifier: Apache-2.0
#include "torch_events/operation_trace.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "live/tensor_table.h"
#include "support/call_filter.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/loaded_object.h"
#include "support/locks/spin_lock.h"
#include "support/message.h"
#include "support/state.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/shared_object_map.h"
#include "torch/metadata/torch_functions.h"

namespace tensorscope::torch_events {

namespace {

constexpr char kAddGlobalCallback[] = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
constexpr char kName[] = "_ZNK2at14RecordFunction4nameEv";
constexpr char kOverload[] = "_ZNK2at14RecordFunction13overload_nameEv";
constexpr char kInputCount[] = "_ZNK2at14RecordFunction10num_inputsEv";
constexpr char kOutputCount[] = "_ZNK2at14RecordFunction11num_outputsEv";
constexpr char kListClass[] = "N3c106detail8ListImplE";

constexpr uint32_t kFirstListTag = 8, kMaxTags = 64;
constexpr size_t kMaxElements = 1 << 16;

// std::unique_ptr<ObserverContext>: not trivial, so it is returned through a hidden pointer.
struct ContextPointer {
  void* object = nullptr;
  ~ContextPointer() {}  // NOLINT: what makes it not trivial
};

// at::RecordFunctionCallback, passed by value in memory. Behind the probability: a bool for each scope (10 from 1.13 to
// 2.14), then three that say that inputs, outputs and ids are wanted. Of the scopes only the first (operations) is
// asked for, and the last two (static runtime) because their number may change; what stands behind the object is not
// read.
struct Callback {
  ContextPointer (*start)(const void* record_function);
  void (*end)(const void* record_function, void* context);
  double sampling_probability = 1.0;
  uint8_t flags[24] = {1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
};

struct Torch {
  uint64_t (*add_global_callback)(Callback) = nullptr;
  const char* (*name)(const void*) = nullptr;
  const char* (*overload_name)(const void*) = nullptr;  // newer than 1.13
  size_t (*input_count)(const void*) = nullptr;
  size_t (*output_count)(const void*) = nullptr;
};

Torch g_torch;
constexpr int kMaxListeners = 2;
OperationListener g_listeners[kMaxListeners];
constinit std::atomic<int> g_listener_count{0};

// Torch's numbers of our callbacks: for operations and for the nodes of backward passes; 0: none.
constinit std::atomic<uint64_t> g_of_operations{0}, g_of_nodes{0};
constinit thread_local bool t_only_teach = false;

// Learnt under the lock, then constant.
struct Learnt {
  std::atomic<int> inputs{0}, outputs{0};
  std::atomic<uint32_t> list_tag{0};
  std::atomic<int> list_elements{0};
  std::atomic<bool> gave_up{false};
};
constinit Learnt g_learnt;
constinit SpinLock g_learning_trace;  // only ever tried
struct NotFollowed {
  std::atomic<uint64_t> operations{0};
};
constinit NotFollowed g_not_followed;
FreshInChild g_fresh_not_followed{g_not_followed};

bool read_memory(uint64_t address, void* out, size_t size) {
  const iovec here = {out, size}, there = {reinterpret_cast<void*>(address), size};
  return read_own_memory(here, &there, 1) == ssize_t(size);
}

bool is_live_tensor(uint64_t impl) {
  const auto* address = reinterpret_cast<const void*>(impl);
  return live::g_tensors.serial(address) != 0 || address == torch::undefined_tensor();
}

constexpr TraceWorld kProcess = {read_memory, is_live_tensor};
// Another thread may be in the middle of learning. What it has found is known by one word, and stays.
struct Finder {
  TraceLayoutFinder layout{kProcess};
};
constinit Finder g_finder;
FreshInChild g_fresh_finder{g_finder};

// Where this operation's arguments or results are, or 0.
int learn(const void* record_function, size_t count, bool inputs) {
  if (!g_learning_trace.try_lock()) return 0;
  TraceLayoutFinder& finder = g_finder.layout;
  const int at = inputs ? finder.add_inputs(record_function, count) : finder.add_outputs(record_function, count);
  const TraceLayout layout = finder.result();
  if (layout.known()) {
    g_learnt.inputs.store(layout.inputs, std::memory_order_relaxed);
    g_learnt.outputs.store(layout.outputs, std::memory_order_release);
  } else if (finder.gave_up() && !g_learnt.gave_up.exchange(true)) {
    say("operations are not followed: this torch keeps their arguments where they were not found");
  }
  g_learning_trace.unlock();
  return at;
}

// The class of lists, by the first one that is seen: intrusive_ptr_target (vtable, counts), then a std::vector<IValue>.
void learn_list(const Value& value) {
  const uint64_t object = value.payload;
  uint64_t words[7];
  if (object % 8 != 0 || object < 0x10000 || !read_memory(object, words, sizeof words)) return;
  if (!g_learning_trace.try_lock()) return;
  static torch::LoadedClasses* loaded = nullptr;
  if (!loaded) loaded = torch::read_loaded_classes().release();
  if (loaded && strcmp(loaded->classes.by_vtable(words[0]), kListClass) == 0) {
    for (int at : {2, 3}) {
      const uint64_t begin = words[at], end = words[at + 1], room = words[at + 2];
      if (begin == 0 || begin % 8 != 0 || begin > end || end > room || (end - begin) % sizeof(Value) != 0) continue;
      g_learnt.list_elements.store(at * 8, std::memory_order_relaxed);
      g_learnt.list_tag.store(value.tag, std::memory_order_release);
      break;
    }
  }
  g_learning_trace.unlock();
}

bool known() { return g_learnt.outputs.load(std::memory_order_acquire) != 0; }

// Calls them under a guard, and those that want to be called again under none.
template <typename Call>
void tell_listeners(Call call) {
  if (t_only_teach) return;
  const int count = g_listener_count.load(std::memory_order_acquire);
  bool outside[kMaxListeners] = {};
  if (HookScope scope; scope) {
    for (int i = 0; i < count; ++i) outside[i] = call(g_listeners[i]);
  }
  for (int i = 0; i < count; ++i) {
    if (outside[i]) g_listeners[i].outside();
  }
}

Values inputs_at(const void* record_function, int at) {
  Values values;
  memcpy(&values, static_cast<const char*>(record_function) + at, sizeof values);
  return values;
}

Values outputs_at(const void* record_function, int at) {
  const Value* range[2];
  memcpy(range, static_cast<const char*>(record_function) + at, sizeof range);
  return {range[0], size_t(range[1] - range[0])};
}

// While the layout is not known. False: this operation's place is not.
bool learn_from(const void* record_function, bool inputs, Values& out) {
  const HookScope scope;
  if (!scope) return false;
  bool found = false;
  if (!g_learnt.gave_up.load(std::memory_order_relaxed)) {
    const size_t count = (inputs ? g_torch.input_count : g_torch.output_count)(record_function);
    const int at = count == 0 ? 0 : learn(record_function, count, inputs);
    if (at != 0) out = (inputs ? inputs_at : outputs_at)(record_function, at);
    found = count == 0 || at != 0;
  }
  if (!found && !t_only_teach && is_operation(g_torch.name(record_function))) {
    g_not_followed.operations.fetch_add(1, std::memory_order_relaxed);
  }
  return found;
}

ContextPointer on_start(const void* record_function) {
  Values values;
  if (known()) {
    values = inputs_at(record_function, g_learnt.inputs.load(std::memory_order_relaxed));
  } else if (!learn_from(record_function, true, values)) {
    return {};
  }
  tell_listeners([&](const OperationListener& listener) { return listener.begin({record_function}, values); });
  return {};
}

void on_end(const void* record_function, void*) {
  Operation operation = {record_function};
  Values values;
  if (known()) {
    values = outputs_at(record_function, g_learnt.outputs.load(std::memory_order_relaxed));
  } else {
    operation.results_known = learn_from(record_function, false, values);
  }
  tell_listeners([&](const OperationListener& listener) { return listener.end(operation, values); });
}

BackwardListener g_backward_listener;

ContextPointer on_node_start(const void* record_function) {
  g_backward_listener.begin(record_function);
  return {};
}
void on_node_end(const void* record_function, void*) { g_backward_listener.end(record_function); }

}  // namespace

TraceLayoutFinder::Contents TraceLayoutFinder::values_at(uint64_t address, size_t count) const {
  constexpr size_t kMax = 32;
  Value values[kMax];
  if (address == 0 || address % 8 != 0 || count > kMax || !world_.read(address, values, count * sizeof(Value))) {
    return Contents::no_values;
  }
  Contents contents = Contents::no_tensors;
  for (size_t i = 0; i < count; ++i) {
    if (values[i].tag >= kMaxTags) return Contents::no_values;
    if (values[i].tag != kTensorTag) continue;
    if (!world_.live_tensor(values[i].payload)) return Contents::no_values;
    contents = Contents::tensors;
  }
  return contents;
}

// Values without tensors may be anything: they are no vote, and count only where no others are there.
template <typename Look>
int TraceLayoutFinder::add(Votes& votes, Look look) {
  int places[2] = {}, at[2] = {};
  bool any = false;
  for (int i = 0; i < kOffsets; ++i) {
    const Contents contents = look(kFirst + i * 8);
    if (contents == Contents::no_values) continue;
    const bool tensors = contents == Contents::tensors;
    if (votes.of[i] == votes.operations) {
      ++places[tensors];
      at[tensors] = kFirst + i * 8;
    }
    any = any || tensors;
    votes.of[i] += tensors;
  }
  votes.operations += any;
  return places[any] == 1 ? at[any] : 0;
}

int TraceLayoutFinder::add_inputs(const void* record_function, size_t count) {
  return add(inputs_, [&](int at) {
    uint64_t words[2];
    if (!world_.read(uint64_t(record_function) + uint64_t(at), words, sizeof words) || words[1] != count) {
      return Contents::no_values;
    }
    return values_at(words[0], count);
  });
}

int TraceLayoutFinder::add_outputs(const void* record_function, size_t count) {
  return add(outputs_, [&](int at) {
    uint64_t words[3];
    if (!world_.read(uint64_t(record_function) + uint64_t(at), words, sizeof words) ||
        words[1] != words[0] + count * sizeof(Value) || words[2] < words[1]) {
      return Contents::no_values;
    }
    return values_at(words[0], count);
  });
}

int TraceLayoutFinder::Votes::winner() const {
  if (operations < kEnough) return 0;
  int best = 0;
  for (int i = 0; i < kOffsets; ++i) {
    if (of[i] != operations) continue;
    if (best != 0) return 0;  // two agree with all
    best = kFirst + i * 8;
  }
  return best;
}

TraceLayout TraceLayoutFinder::result() const { return {inputs_.winner(), outputs_.winner()}; }

bool TraceLayoutFinder::gave_up() const {
  constexpr int kTooMany = 64;
  return !result().known() && (inputs_.operations > kTooMany || outputs_.operations > kTooMany);
}

bool is_operation(const char* name) { return strstr(name, "::") != nullptr && strncmp(name, "autograd::", 10) != 0; }

bool is_out_overload(std::string_view overload) {
  constexpr std::string_view kOut = "out";
  for (size_t at = overload.find(kOut); at != overload.npos; at = overload.find(kOut, at + 1)) {
    const size_t end = at + kOut.size();
    if ((at == 0 || overload[at - 1] == '_') && (end == overload.size() || overload[end] == '_')) return true;
  }
  return false;
}

uint64_t operations_not_followed() { return g_not_followed.operations.load(std::memory_order_relaxed); }

const char* Operation::name() const { return g_torch.name(record); }

bool Operation::writes_out() const {
  const char* overload = g_torch.overload_name == nullptr ? nullptr : g_torch.overload_name(record);
  return overload != nullptr && is_out_overload(overload);
}

Status trace_operations(const OperationListener& listener) {
  const LoadedObject torch = find_object("libtorch_cpu.so");
  if (!torch) return Status::failed("libtorch_cpu.so is not loaded");
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(torch.find(name));
    return function != nullptr;
  };
  if (!find(kAddGlobalCallback, g_torch.add_global_callback) || !find(kName, g_torch.name) ||
      !find(kInputCount, g_torch.input_count) || !find(kOutputCount, g_torch.output_count)) {
    return Status::failed("this torch has no at::addGlobalCallback");
  }
  find(kOverload, g_torch.overload_name);
  const int count = g_listener_count.load(std::memory_order_relaxed);
  if (count == kMaxListeners) return Status::failed("two parts of the profiler follow operations already");
  g_listeners[count] = listener;
  g_listener_count.store(count + 1, std::memory_order_release);
  if (count == 0) g_of_operations.store(g_torch.add_global_callback({on_start, on_end}), std::memory_order_relaxed);
  return Status::done();
}

Status trace_backward(const BackwardListener& listener) {
  const LoadedObject torch = find_object("libtorch_cpu.so");
  using Add = uint64_t (*)(Callback);
  const auto add = torch ? reinterpret_cast<Add>(torch.find(kAddGlobalCallback)) : nullptr;
  if (!add) return Status::failed("this torch has no at::addGlobalCallback");
  g_backward_listener = listener;
  constexpr uint8_t kBackwardOnly[sizeof Callback::flags] = {0, 1};
  Callback callback = {on_node_start, on_node_end};
  memcpy(callback.flags, kBackwardOnly, sizeof callback.flags);
  g_of_nodes.store(add(callback), std::memory_order_relaxed);
  return Status::done();
}

bool program_follows_operations() {
  const LoadedObject torch = find_object("libtorch_cpu.so");
  const auto find = [&](const char* name) { return torch ? torch.find(name) : nullptr; };
  const auto has_callbacks = reinterpret_cast<bool (*)()>(find("_ZN2at18hasGlobalCallbacksEv"));
  const auto disable = reinterpret_cast<void (*)(uint64_t)>(find("_ZN2at15disableCallbackEm"));
  const auto enable = reinterpret_cast<void (*)(uint64_t)>(find("_ZN2at16reenableCallbackEm"));
  if (!has_callbacks || !disable || !enable) return false;
  const uint64_t ours[] = {g_of_operations.load(std::memory_order_relaxed), g_of_nodes.load(std::memory_order_relaxed)};
  for (const uint64_t each : ours) {
    if (each != 0) disable(each);
  }
  const bool others = has_callbacks();
  for (const uint64_t each : ours) {
    if (each != 0) enable(each);
  }
  return others;
}

OperationsOnlyTeach::OperationsOnlyTeach() { t_only_teach = true; }
OperationsOnlyTeach::~OperationsOnlyTeach() { t_only_teach = false; }

void each_tensor(const Value& value, FunctionRef<void(const void* impl)> visit) {
  if (value.tag == kTensorTag) {
    if (value.payload != 0) visit(reinterpret_cast<const void*>(value.payload));
    return;
  }
  if (value.tag < kFirstListTag || value.payload < 0x10000) return;
  if (g_learnt.list_tag.load(std::memory_order_acquire) == 0) learn_list(value);
  // Others hold fewer bytes than a word, or objects of other classes.
  if (g_learnt.list_tag.load(std::memory_order_acquire) != value.tag) return;
  const auto* object = reinterpret_cast<const char*>(value.payload);
  const Value* range[2];
  memcpy(range, object + g_learnt.list_elements.load(std::memory_order_relaxed), sizeof range);
  if (size_t(range[1] - range[0]) > kMaxElements) return;
  for (const Value* element = range[0]; element != range[1]; ++element) {
    if (element->tag == kTensorTag && element->payload != 0) {
      visit(reinterpret_cast<const void*>(element->payload));
    } else if (element->tag != kTensorTag && element->tag != 0) {
      return;  // a list of something else
    }
  }
}

}  // namespace tensorscope::torch_events
