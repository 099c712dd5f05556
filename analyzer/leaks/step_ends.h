// SPDX-License-Identifier: Apache-2.0
// Where in a step of the program a dump was taken. In a forward pass, after backward and after the optimizer's step
// different things are alive: that is neither growth nor may it hide growth. What was made since the last step ended
// belongs to the step that runs, and live bytes at the ends of steps can be compared with each other.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::analyzer {

// What has a larger serial was made in the step that runs. 0: not known, or the program has long been doing something
// else than its steps, as a server does that answers after it has trained.
uint64_t running_since(const Dump& dump);

// Live bytes of all devices at the ends of steps, between the first and the last dump.
struct GrowthAtEnds {
  bool known = false;                         // of both dumps, and both count the same steps
  uint64_t first_step = 0, last_step = 0;     // that had ended
  uint64_t first = 0, last = 0;               // live bytes then
  int64_t before_first = 0, before_last = 0;  // live bytes that came from these ends until the dumps; less than 0: went

  int64_t bytes() const { return int64_t(last - first); }
  // Of the growth of live bytes from dump to dump what is due to their places in a step.
  int64_t running() const { return before_last - before_first; }
  int64_t bytes_each_step() const { return last_step > first_step ? bytes() / int64_t(last_step - first_step) : 0; }
};
GrowthAtEnds growth_at_ends(const Dump& first, const Dump& last);

}  // namespace tensorscope::analyzer
