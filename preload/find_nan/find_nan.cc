// SPDX-License-Identifier: Apache-2.0
#include "find_nan/find_nan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "find_nan/checked_operation.h"
#include "find_nan/device_checks.h"
#include "find_nan/finding_description.h"
#include "find_nan/nan_candidates.h"
#include "find_nan/nan_origin.h"
#include "find_nan/result_check.h"
#include "live/tracker.h"
#include "python/bridge.h"
#include "python/interpreter.h"
#include "support/copy_text.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/loaded_object.h"
#include "support/message.h"
#include "support/options.h"
#include "support/state.h"
#include "tensor_values/element_numbers.h"
#include "tensor_values/finite.h"
#include "torch_events/operation_kinds.h"
#include "torch_events/operation_trace.h"
#include "torch_events/steps.h"
#include "watch/watch.h"

namespace tensorscope::find_nan {

namespace {

using tensor_values::any_not_finite;
using tensor_values::Statistics;
using tensor_values::statistics_of;
using tensor_values::TensorView;
using torch_events::Operation;
using torch_events::ValueOrigin;
using torch_events::Values;

// All that is of this process: what is known of its program, what it counted and what it said.
struct FindNan {
  // What an optimizer does.
  enum class Scaler : uint8_t { unknown, none, seen };
  std::atomic<Scaler> scaler{Scaler::unknown};
  std::atomic<bool> overflow{false};
  std::atomic<uint32_t> steps{0};
  std::atomic<bool> in_update{false}, backward_seen{false};
  // Counted.
  std::atomic<uint64_t> operations{0}, skipped{0}, unwritten{0};
  NanCandidates possible;
};

constinit FindNan g_find;
FreshInChild g_fresh_find{g_find};
constinit FindNanActions g_actions;
constinit std::atomic<bool> g_on{false};
bool (*g_gradients_enabled)() = nullptr;  // c10::GradMode::is_enabled()

bool stops() { return options().find_nan == FindNanMode::stop; }

// What was made within an operation turned out to be meant.
void drop_within(OperationFrame& frame) {
  if (frame.origin != 0) g_find.possible.drop_within(frame.origin);
  frame.origin = 0;
}

uint32_t step_number() {
  if (options().calls || options().watch != nullptr) return torch_events::current_step().number;
  return g_find.steps.load(std::memory_order_relaxed);
}

// --- one operation

// The arguments that it writes: of their old values nothing is left at its end.
void look_at_written(OperationThread& thread, const OperationFrame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    OperationArgument& argument = thread.arguments[i];
    TensorView view;
    if (argument.impl == nullptr || argument.position != 0 || !view_numbers(argument.impl, view) ||
        g_nan.marks.is_made(view))
      continue;
    argument.bad_before = any_not_finite(view);
    if (!argument.bad_before) g_nan.marks.set_made(view);
  }
}

// A value that is read by another node than the one that made it was not replaced there.
void look_at_readers(OperationThread& thread, const OperationFrame& frame, const void* node) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.arguments[i].impl == nullptr || !view_numbers(thread.arguments[i].impl, view)) continue;
    const Mark mark = g_nan.marks.get(view);
    if ((mark.flags & Mark::kBad) == 0 || mark.origin == 0) continue;
    if (!g_find.possible.waits_for_node(mark.origin, node) || !any_not_finite(view)) continue;
    const bool scaled = g_find.scaler.load(std::memory_order_relaxed) != FindNan::Scaler::none;
    thread.say_now |= g_find.possible.end_node(mark.origin, scaled);
  }
}

bool any_needs_gradient(const OperationThread& thread, const OperationFrame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    if (thread.arguments[i].impl != nullptr && g_nan_functions.requires_grad(thread.arguments[i].impl)) return true;
  }
  return false;
}

// An operation outside of a backward pass: where the optimizer is. It changes parameters that have gradients after a
// backward pass; the next operation on a parameter that records gradients belongs to the next step.
void follow_step(OperationThread& thread, const OperationFrame& frame) {
  if (!g_find.backward_seen.load(std::memory_order_relaxed) || frame.first == frame.end ||
      !g_nan_functions.requires_grad) {
    return;
  }
  if (g_find.in_update.load(std::memory_order_relaxed)) {
    if (g_gradients_enabled == nullptr || !g_gradients_enabled() || !any_needs_gradient(thread, frame)) return;
    g_find.in_update.store(false, std::memory_order_relaxed);
    g_find.backward_seen.store(false, std::memory_order_relaxed);
    g_find.steps.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const void* first = thread.arguments[frame.first].impl;
  if (!frame.kind->writes || frame.kind->origin != ValueOrigin::computed || first == nullptr ||
      !is_leaf_with_gradient(first)) {
    return;
  }
  g_find.in_update.store(true, std::memory_order_relaxed);
  FindNan::Scaler unknown = FindNan::Scaler::unknown;
  g_find.scaler.compare_exchange_strong(unknown, FindNan::Scaler::none);
  if (g_find.possible.any_open()) thread.say_now |= g_find.possible.confirm_held();
}

bool enter_operation(const Operation& operation, const Values& inputs) {
  OperationThread* thread = this_operation_thread();
  const char* name = operation.name();
  if (thread == nullptr || !torch_events::is_operation(name)) return false;
  const int depth = thread->depth++;
  if (depth >= OperationThread::kMaxDepth) return false;
  if (depth == 0) {
    thread->arguments_used = 0;
    thread->kept_count = 0;
  }
  OperationFrame& frame = thread->frames[depth];
  frame = {};
  frame.record = operation.record;
  frame.name = name;
  frame.kind = &torch_events::kind_of(frame.name);
  enter_arguments(*thread, frame, inputs);
  if (frame.kind->writes && frame.kind->origin == ValueOrigin::computed) look_at_written(*thread, frame);
  if (depth != 0) return false;

  const void* node = live::running_node_address();
  if (node != nullptr) g_find.backward_seen.store(true, std::memory_order_relaxed);
  if (g_find.possible.any_open()) look_at_readers(*thread, frame, node);
  if (node == nullptr) follow_step(*thread, frame);
  return thread->say_now;
}

// A loss scaler looked at the gradients of one optimizer: it skips the step where they overflowed.
void scaler_checked(const OperationThread& thread, const OperationFrame& frame) {
  g_find.scaler.store(FindNan::Scaler::seen, std::memory_order_relaxed);
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.arguments[i].position != 1 || thread.arguments[i].impl == nullptr) continue;
    if (!view_numbers(thread.arguments[i].impl, view)) continue;
    Statistics statistics;
    if (!statistics_of(view, statistics) || statistics.maximum == 0) continue;
    g_find.overflow.store(true, std::memory_order_relaxed);
    g_find.possible.drop_backward();
  }
}

// torch.tensor() takes memory by `empty` and writes it without an operation; a storage that is set comes from a file or
// from another process.
void forget_unwritten(const OperationThread& thread, const OperationFrame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    const void* impl = thread.arguments[i].impl;
    if (impl != nullptr && view_numbers(impl, view) && g_nan.marks.get(view).flags == Mark::kUnwritten)
      g_nan.marks.set(view, {});
  }
}

// Some results of this operation are not finite: marks them, and keeps the first one of all as a candidate.
void judge(OperationThread& thread, OperationFrame& frame, const OperationResults& results,
           const OperationResult* const* bad, int bad_count) {
  const auto mark_all = [&](uint8_t flags, uint8_t origin) {
    for (int i = 0; i < bad_count; ++i) g_nan.marks.set(bad[i]->view, {flags, origin});
  };
  const NanOrigin from = nan_origin(thread, frame, results, bad, bad_count);
  switch (from.kind) {
    case NanOrigin::Kind::argument:
      return mark_all(Mark::kBad, from.candidate);
    case NanOrigin::Kind::unwritten_memory:
      g_find.unwritten.fetch_add(1, std::memory_order_relaxed);
      return mark_all(Mark::kUnwritten, 0);
    case NanOrigin::Kind::deliberate:
      drop_within(frame);
      return mark_all(Mark::kDeliberate, 0);
    case NanOrigin::Kind::operation_within:
      return mark_all(Mark::kBad, frame.origin);
    case NanOrigin::Kind::here:
      break;
  }
  if (g_find.possible.all_reported()) {
    g_find.possible.count_unreported();
    return mark_all(Mark::kBad, 0);
  }
  const void* const node = live::running_node_address();
  frame.origin = g_find.possible.add(&thread, node, [&](Finding& out) {
    describe({.thread = thread,
              .frame = frame,
              .bad = {bad, size_t(bad_count)},
              .cause = from.cause,
              .node = node,
              .step = step_number()},
             out);
  });
  mark_all(Mark::kBad, frame.origin);
}

bool leave_operation(const Operation& operation, const Values& outputs) {
  OperationThread* thread = known_operation_thread();
  if (thread == nullptr || thread->depth == 0) return false;
  if (thread->depth > OperationThread::kMaxDepth) {
    --thread->depth;
    return false;
  }
  // An operation may have begun while nothing was recorded.
  int depth = thread->depth - 1;
  while (depth >= 0 && thread->frames[depth].record != operation.record) --depth;
  if (depth < 0) return false;
  thread->depth = depth;
  OperationFrame& frame = thread->frames[depth];
  if (operation.results_known) g_find.operations.fetch_add(1, std::memory_order_relaxed);
  drop_freed(*thread, frame);
  if (frame.kind->checks_scale) scaler_checked(*thread, frame);
  if (frame.kind->origin == ValueOrigin::external) forget_unwritten(*thread, frame);
  if (frame.kind->updates_scale && g_find.overflow.exchange(false)) g_find.skipped.fetch_add(1);

  OperationResults results;
  if (frame.whole) collect_results(operation, *thread, frame, outputs, results);
  const OperationResult* bad[OperationResults::kMax];
  int bad_count = 0;
  for (int i = 0; i < results.count; ++i) {
    const OperationResult& result = results.all[i];
    if (is_view(*thread, frame, result)) continue;
    if (look_at_result(*thread, frame, result)) bad[bad_count++] = &result;
  }
  if (frame.kind->foreign) forget_bounds(*thread, frame);
  if (bad_count != 0) judge(*thread, frame, results, bad, bad_count);
  if (depth != 0) {
    if (frame.origin != 0) thread->frames[depth - 1].origin = frame.origin;
    thread->arguments_used = frame.first;
  } else {
    if (frame.origin != 0) thread->say_now |= g_find.possible.settle(thread, bad_count != 0);
  }
  return thread->say_now;
}

// --- saying it, and what follows

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
  watch::finish();
  fflush(nullptr);
  _exit(kFoundNanStatus);
}

// No guard is held: a dump may look at this thread.
void outside() {
  OperationThread* thread = known_operation_thread();
  if (thread == nullptr || !thread->say_now) return;
  thread->say_now = false;
  const int saved_errno = errno;
  {
    const InsideScope inside;
    run_or_abandon_on_oom([] { report_finding(g_find.possible.pending()); });
  }
  g_find.possible.mark_reported();
  if (options().find_nan_dump && g_actions.write_dump) g_actions.write_dump();
  if (stops() && g_find.possible.close()) stop_program();
  errno = saved_errno;
}

void take_device_finding(const DeviceFinding& found) {
  OperationThread* thread = this_operation_thread();
  if (thread == nullptr) return;
  thread->say_now |= g_find.possible.confirm_at_once([&](Finding& out) {
    out = {};
    out.cause = found.gradient ? Cause::device_gradient : Cause::device_result;
    out.phase = found.gradient ? Phase::backward : Phase::forward;
    out.nan = found.nan;
    out.step = found.step;
    out.module = found.module;
    copy_text(found.gradient ? "gradient on a device" : "result of a module on a device", out.operation);
    copy_text(found.parameter, out.parameter);
  });
  const python::ReleasedGil released;
  outside();
}

}  // namespace

void start_find_nan(const FindNanActions& actions) {
  if (options().find_nan == FindNanMode::off) {
    return set_coverage(Subject::find_nan, Seen::not_applicable, "");
  }
  g_actions = actions;
  const bool resolved = torch::resolve_torch_functions(g_nan_functions);
  resolve("_ZN3c108GradMode10is_enabledEv", g_gradients_enabled);
  Status started = Status::failed("no memory for the records of threads");
  if (resolved && start_operation_threads()) {
    started = torch_events::trace_operations({enter_operation, leave_operation, outside});
  }
  if (!started) {
    say("--find-nan is off: %s", started.why());
    return set_coverage(Subject::find_nan, Seen::no, started.why());
  }
  start_device_checks(take_device_finding);
  g_on.store(true, std::memory_order_release);
  set_coverage(Subject::find_nan, Seen::yes, "");
}

void finish_find_nan() {
  if (!g_on.exchange(false)) return;
  const InsideScope inside;
  OperationThread* thread = this_operation_thread();
  if (thread != nullptr) {
    thread->say_now |= g_find.possible.confirm_held();
    if (thread->say_now) {
      thread->say_now = false;
      run_or_abandon_on_oom([] { report_finding(g_find.possible.pending()); });
    }
  }
  const bool nan = g_find.possible.nan_reported(), infinity = g_find.possible.infinity_reported();
  char more[512] = "";
  if (const uint64_t skipped = g_find.skipped.load(); skipped != 0) {
    snprintf(more, sizeof more, "; %llu step%s skipped by loss scaling", (unsigned long long)skipped,
             skipped == 1 ? "" : "s");
  }
  if (const uint64_t unwritten = g_find.unwritten.load(); unwritten != 0) {
    snprintf(more + strlen(more), sizeof more - strlen(more), "; %llu operation%s read memory that nobody had written",
             (unsigned long long)unwritten, unwritten == 1 ? "" : "s");
  }
  if (const uint64_t missed = torch_events::operations_not_followed(); missed != 0) {
    snprintf(more + strlen(more), sizeof more - strlen(more), "; %llu of the first operations %s not checked",
             (unsigned long long)missed, missed == 1 ? "was" : "were");
  }
  if (g_nan.device_seen.load() && !device_checks_run()) {
    snprintf(more + strlen(more), sizeof more - strlen(more), "; tensors on devices were not checked");
  } else if (g_nan.device_seen.load()) {
    snprintf(more + strlen(more), sizeof more - strlen(more),
             "; %llu results of modules and gradients on devices checked", (unsigned long long)device_checks());
  }
  if (nan || infinity) {
    const uint64_t later = g_find.possible.later();
    say("--find-nan: found, see above; %llu later origin%s, %llu operations checked%s", (unsigned long long)later,
        later == 1 ? "" : "s", (unsigned long long)g_find.operations.load(), more);
  } else {
    say("--find-nan: no NaN or infinity made by %llu operations%s", (unsigned long long)g_find.operations.load(), more);
  }
}

}  // namespace tensorscope::find_nan
