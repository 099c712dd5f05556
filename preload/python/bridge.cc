// SPDX-License-Identifier: Apache-2.0
#include "python/bridge.h"

#include <atomic>
#include <utility>

#include "live/preexisting_tensors.h"
#include "python/builtin_module.h"
#include "python/exit_dump.h"
#include "python/gil_thread.h"
#include "python/heap_inspector/earlier_tensors.h"
#include "python/heap_inspector/foreign/allocator_snapshot.h"
#include "python/heap_inspector/foreign/python_heap.h"
#include "python/heap_inspector/layout_check.h"
#include "python/heap_inspector/program_objects.h"
#include "python/interpreter.h"
#include "python/memory_for_names.h"
#include "python/module_outputs.h"
#include "stacks/python/python_stack.h"
#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/options.h"
#include "support/system_limits.h"

namespace tensorscope::python {

namespace {

enum class Attached : uint8_t { no, waiting, yes };
std::atomic<Attached> g_attached{Attached::no};
std::atomic<Attached> g_outputs{Attached::no};
// A job that was posted is not in the child.
FreshInChild g_fresh_bridge{[] {
  for (std::atomic<Attached>* stage : {&g_attached, &g_outputs}) {
    Attached waiting = Attached::waiting;
    stage->compare_exchange_strong(waiting, Attached::no, std::memory_order_acq_rel);
  }
}};

class AttachJob : public GilJob {
 public:
  void run(const Gil& gil) override {
    if (register_exit_dump(gil)) stacks::find_thread_state();
    add_builtin_module_late(gil);
    stacks::check_python_with_gil();
    heap_inspector::check_layouts(gil);
    if (live::attach_facts().ns != 0) {
      MemoryLimit limit(LookCosts::allowed().memory);
      heap_inspector::find_earlier_tensors(gil, Deadline::in_ms(options().names_gil_ms));
    }
    g_attached.store(Attached::yes, std::memory_order_release);
  }
};

class OutputsJob : public GilJob {
 public:
  void run(const Gil& gil) override {
    g_outputs.store(record_module_outputs(gil) ? Attached::yes : Attached::no, std::memory_order_release);
  }
};

// An atomic word that says whether a job is still to be posted, is waiting, or is done.
void post_once(std::atomic<Attached>& stage, GilJob* (*make)()) {
  Attached before = Attached::no;
  if (!stage.compare_exchange_strong(before, Attached::waiting, std::memory_order_acq_rel)) return;
  if (!post_with_gil(make())) stage.store(Attached::no, std::memory_order_release);
}

// Of a process that ran before the profiler came: the first dump waits until older tensors are known.
void attach_now() {
  Attached before = Attached::no;
  if (!g_attached.compare_exchange_strong(before, Attached::waiting, std::memory_order_acq_rel)) return;
  auto* job = new AttachJob;
  const GilOutcome outcome = run_with_gil(job, Deadline::in_ms(options().names_timeout_ms), options().names_gil_ms);
  if (outcome == GilOutcome::stuck) return;  // the thread deletes it
  if (outcome != GilOutcome::done) g_attached.store(Attached::no, std::memory_order_release);
  delete job;
}

class LookJob : public GilJob {
 public:
  LookJob(const LookCosts& costs, const SnapshotFacts& facts) : costs_(costs), facts_(facts) {}
  void run(const Gil& gil) override {
    const uint64_t begin = monotonic_ns();
    const Deadline deadline = Deadline::in_ms(costs_.hold_ms);
    if (facts_.devices) heap_inspector::ask_allocator(gil, found.allocator);
    MemoryLimit limit(costs_.memory);
    heap_inspector::look_at_objects(gil, deadline, facts_, found.names, found.references, found.groups);
    found.references.time_limit_ms = costs_.hold_ms;
    found.references.memory_limit = limit.bytes();
    found.references.memory_taken = limit.peak_taken();
    heap_inspector::ask_heap(gil, deadline, costs_.hold_ms, heap_text_, found.heap);
    found.references.gil_ns = monotonic_ns() - begin;
  }
  ProgramFacts found;

 private:
  LookCosts costs_;
  SnapshotFacts facts_;
  heap_inspector::HeapText heap_text_;  // made and closed without the GIL
};

const char* explain(GilOutcome outcome) {
  switch (outcome) {
    case GilOutcome::done:
      return "";
    case GilOutcome::no_gil:
      return "the GIL was not free within the time limit (TENSORSCOPE_NAMES_TIMEOUT_MS)";
    case GilOutcome::stuck:
      return "inspecting the program's objects exceeded the time limit";
    case GilOutcome::no_memory:
      return "not enough memory";
    case GilOutcome::no_thread:
      return "no thread could be started to wait for the GIL";
  }
  return "";
}

}  // namespace

bool attach() {
  if (g_attached.load(std::memory_order_acquire) == Attached::no && find_interpreter() && interpreter_alive()) {
    stacks::start_python();  // where the interpreter came after torch
    if (live::attach_facts().ns != 0) {
      attach_now();
    } else {
      post_once(g_attached, []() -> GilJob* { return new AttachJob; });
    }
  }
  const bool attached = g_attached.load(std::memory_order_acquire) == Attached::yes;
  if (attached && waits_for_torch_nn()) post_once(g_outputs, []() -> GilJob* { return new OutputsJob; });
  return attached && !waits_for_torch_nn();
}

bool waits_for_torch_nn() {
  return options().module_outputs && known_interpreter() && interpreter_alive() &&
         g_outputs.load(std::memory_order_acquire) != Attached::yes;
}

LookCosts LookCosts::allowed() {
  LimitReader reader;
  return {options().names_timeout_ms, options().names_gil_ms, memory_for_names(reader.read(), options().names_memory)};
}

ProgramFacts look_at_program(const LookCosts& costs, const SnapshotFacts& facts) {
  ProgramFacts found;
  const auto give_up = [&](const char* why) {
    found.set_detail(why);
    return std::move(found);
  };
  attach();
  if (!known_interpreter()) {
    const char* trouble = interpreter_trouble();
    found.names.complete = found.references.complete = trouble == nullptr;
    give_up(trouble ? trouble : "");
    if (trouble) {
      exit_dump_comes_late();
      return found;
    }
    found.allocator.detail = "there is no Python interpreter to query torch";
    return found;
  }
  if (!interpreter_alive()) return give_up("the interpreter had already ended");
  auto* job = new LookJob(costs, facts);
  const GilOutcome outcome = run_with_gil(job, Deadline::in_ms(costs.wait_ms), costs.hold_ms);
  if (outcome == GilOutcome::stuck) return give_up(explain(outcome));
  if (outcome == GilOutcome::done) {
    found = std::move(job->found);
  } else {
    give_up(explain(outcome));
  }
  delete job;
  return found;
}

}  // namespace tensorscope::python
