// SPDX-License-Identifier: Apache-2.0
#include "torch_events/steps.h"

#include <atomic>

#include "live/step_marks.h"
#include "live/tracker.h"
#include "support/fresh_in_child.h"

namespace tensorscope::torch_events {

namespace {

struct StepCounts {
  std::atomic<uint32_t> steps{0}, train_passes{0}, eval_passes{0};
  std::atomic<Mode> mode{Mode::unknown};
};
constinit StepCounts g_step_counts;
FreshInChild g_fresh_step_counts{g_step_counts};

// Who says where a step ends: the program's code, which a forked child keeps.
std::atomic<bool> g_marked{false}, g_counted{false};

std::atomic<void (*)()> g_step_listener{nullptr};

void tell_step() {
  const OptimizerStep step = current_step();
  live::step_seen(step.number, step.pass, uint8_t(step.mode));
}

}  // namespace

OptimizerStep current_step() {
  const Mode mode = g_step_counts.mode.load(std::memory_order_relaxed);
  const uint32_t passes =
      (mode == Mode::eval ? g_step_counts.eval_passes : g_step_counts.train_passes).load(std::memory_order_relaxed);
  const uint32_t pass = passes == 0 ? 0 : passes - 1;
  return {mode == Mode::eval ? pass : g_step_counts.steps.load(std::memory_order_relaxed), pass, mode};
}

int64_t counted_steps() {
  return g_counted.load(std::memory_order_relaxed) ? int64_t{g_step_counts.steps.load(std::memory_order_relaxed)} : -1;
}

void steps_are_counted() { g_counted.store(true, std::memory_order_relaxed); }

void begin_pass(Mode mode) {
  (mode == Mode::eval ? g_step_counts.eval_passes : g_step_counts.train_passes).fetch_add(1, std::memory_order_relaxed);
  g_step_counts.mode.store(mode, std::memory_order_relaxed);
  tell_step();
}

void end_step() {
  if (!g_marked.load(std::memory_order_relaxed)) g_step_counts.steps.fetch_add(1, std::memory_order_relaxed);
  live::step_ended(live::StepSource::optimizer);
  tell_step();
}

void mark_step() {
  g_marked.store(true, std::memory_order_relaxed);
  steps_are_counted();
  g_step_counts.steps.fetch_add(1, std::memory_order_relaxed);
  live::step_ended(live::StepSource::mark);
  tell_step();
}

void tell_step_end() {
  if (void (*const listener)() = g_step_listener.load(std::memory_order_acquire)) listener();
}

void listen_to_step_ends(void (*listener)()) { g_step_listener.store(listener, std::memory_order_release); }

}  // namespace tensorscope::torch_events
