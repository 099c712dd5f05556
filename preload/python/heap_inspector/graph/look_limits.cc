// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/look_limits.h"

#include <algorithm>

#include "support/clock.h"
#include "support/enough_memory.h"

namespace tensorscope::python::heap_inspector {

LookLimits::LookLimits(Deadline end, uint32_t free_steps)
    : begin_ns_(monotonic_ns()),
      end_ns_(end.ns),
      part_end_ns_(end.ns),
      free_steps_(free_steps),
      steps_left_(free_steps) {}

void LookLimits::begin_part(double time, double memory) {
  const uint64_t whole = end_ns_ > begin_ns_ ? end_ns_ - begin_ns_ : 0;
  part_end_ns_ = end_ns_ == UINT64_MAX ? UINT64_MAX : begin_ns_ + uint64_t(double(whole) * time);
  part_memory_ = memory;
  part_stop_ = Stop::none;
  steps_left_ = free_steps_;
}

void LookLimits::end_part(Stop why) {
  part_stop_ = why;
  if (stop_ == Stop::none) stop_ = why;
}

bool LookLimits::look() {
  steps_left_ = kStepsPerReading;
  const MemoryLimit* memory = MemoryLimit::current();
  if (memory_is_short() || (memory && double(memory->taken()) >= double(memory->bytes()) * part_memory_)) {
    end_part(Stop::memory);
  } else if (monotonic_ns() >= part_end_ns_) {
    end_part(Stop::time);
  }
  return part_stop_ != Stop::none;
}

uint64_t LookLimits::elapsed_ns() const { return monotonic_ns() - begin_ns_; }
uint64_t LookLimits::left_ns() const {
  const uint64_t now = monotonic_ns();
  return end_ns_ > now ? end_ns_ - now : 0;
}

}  // namespace tensorscope::python::heap_inspector
