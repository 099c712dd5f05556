// SPDX-License-Identifier: Apache-2.0
#include "live/step_marks.h"

#include <atomic>
#include <bit>

#include "live/history.h"
#include "live/serials.h"
#include "support/fresh_in_child.h"

namespace tensorscope::live {

namespace {

struct Marks {
  std::atomic<Serial> at[kMaxStepMarks];
  std::atomic<Serial> last{0}, backward_began{0};
  std::atomic<bool> backward_ran{false};
};
constinit Marks g_marks;
FreshInChild g_fresh_marks{g_marks};

// Step n has a mark at n >> shift where that leaves nothing over.
unsigned shift_of(uint64_t number) {
  constexpr unsigned kBits = std::bit_width(kMaxStepMarks - 1);
  const auto bits = unsigned(std::bit_width(number));
  return bits > kBits ? bits - kBits : 0;
}

}  // namespace

void step_ended(StepSource source) {
  const Serial newest = newest_serial();
  const uint64_t count = count_step(source);
  if (count == 0) return;
  history_step();
  g_marks.last.store(newest, std::memory_order_relaxed);
  const uint64_t number = count - 1;
  const unsigned shift = shift_of(number);
  if (shift > 0 && std::has_single_bit(number)) {
    for (size_t i = 0; i < kMaxStepMarks / 2; ++i) {
      g_marks.at[i].store(g_marks.at[2 * i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
  }
  if ((number & ((uint64_t{1} << shift) - 1)) != 0) return;
  g_marks.at[number >> shift].store(newest, std::memory_order_relaxed);
}

void backward_runs() {
  std::atomic<bool>& ran = g_marks.backward_ran;
  if (ran.load(std::memory_order_relaxed)) return;
  g_marks.backward_began.store(newest_serial(), std::memory_order_relaxed);
  ran.store(true, std::memory_order_relaxed);
}

bool backward_ran() { return g_marks.backward_ran.load(std::memory_order_relaxed); }
Serial last_step_end() { return g_marks.last.load(std::memory_order_relaxed); }
Serial backward_began() { return g_marks.backward_began.load(std::memory_order_relaxed); }

void forward_after_backward() {
  if (g_marks.backward_ran.exchange(false, std::memory_order_relaxed)) step_ended(StepSource::backward);
}

StepMarks step_marks(Serial newest) {
  const StepCount steps = step_count();
  StepMarks out;
  out.source = steps.source;
  out.count = steps.count;
  if (out.count == 0) return out;
  const unsigned shift = shift_of(out.count - 1);
  out.every = uint64_t{1} << shift;
  for (size_t i = 0; i <= (out.count - 1) >> shift; ++i) {
    const Serial mark = g_marks.at[i].load(std::memory_order_relaxed);
    if (mark > newest) break;
    if (mark > (out.ends.empty() ? 0 : out.ends.back())) out.ends.push_back(mark);
  }
  // A step that ended after the dump's instant has moved it on.
  const Serial last = g_marks.last.load(std::memory_order_relaxed);
  if (last <= newest) out.last_end = last;
  return out;
}

}  // namespace tensorscope::live
