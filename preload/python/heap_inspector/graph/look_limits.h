// SPDX-License-Identifier: Apache-2.0
// How far a look at the program's objects may go: the time for which it holds the GIL, and the memory it takes (that of
// the thread's MemoryLimit, where one stands).
//
// The work is cut into parts, each with a share of the whole, so that what one part found can still be used by the
// next. A loop calls reached() at each step and ends if it returns true; the first steps of each part are free of the
// clock, so that a small program is looked at whole on the slowest machine.
//
// Context: heap inspector.
#pragma once

#include <cstdint>

#include "python/gil_thread.h"

namespace tensorscope::python::heap_inspector {

class LookLimits {
 public:
  enum class Stop : uint8_t { none, time, memory };
  static constexpr uint32_t kFreeSteps = 1 << 14, kStepsPerReading = 1 << 10;

  explicit LookLimits(Deadline end, uint32_t free_steps = kFreeSteps);
  static LookLimits none() { return LookLimits(Deadline::never()); }

  // Each share is of the whole: the part may go on until so much of the time has gone, or so much memory is taken.
  void begin_part(double time, double memory);

  // Cheap: reads the clock now and then.
  bool reached(uint32_t steps = 1) {
    if (part_stop_ != Stop::none) return true;
    if (steps < steps_left_) {
      steps_left_ -= steps;
      return false;
    }
    return look();
  }
  // For an array that could not grow.
  void memory_ran_out() { end_part(Stop::memory); }
  void end_part(Stop why);

  // Why the present part ended early, and why the first one did that did.
  Stop part_stop() const { return part_stop_; }
  Stop stop() const { return stop_; }

  // Of the whole: since the beginning, and until its end.
  uint64_t elapsed_ns() const;
  uint64_t left_ns() const;

 private:
  bool look();

  uint64_t begin_ns_, end_ns_, part_end_ns_;
  double part_memory_ = 1;
  uint32_t free_steps_, steps_left_;
  Stop part_stop_ = Stop::none, stop_ = Stop::none;
};

}  // namespace tensorscope::python::heap_inspector
