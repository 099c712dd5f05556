// SPDX-License-Identifier: Apache-2.0
// When the things that a suspect holds were created: at how many different times, and whether it goes on.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

inline constexpr uint64_t kMinGenerations = 4;

// By the program's own clock, and by the computer's.
struct Birth {
  uint64_t serial = 0, created_ns = 0;
};

struct Births {
  uint64_t generations = 0, oldest_ns = 0, newest_ns = 0;  // ages
  uint64_t steps = 0, of_steps = 0;
  double after_first_step = 0;  // what part of them was created after the first of these steps
  uint64_t largest_gap = 1;     // between the serials of one and the next
  bool much_of_run = false;     // an eighth or more of all that the program created was created meanwhile
  bool even = false;            // no gap is much larger than the others, and as much came early as late
  bool still_active = false;    // the newest one is no older than the program takes for a few of them
};

// A generation begins where the program did much else before: after a gap of at least a quarter of the largest one.
// More may be closer together, so that it is a lower bound. Where steps were seen, things of two steps are of two.
Births births_of(std::vector<Birth> births, const Dump& dump);

std::vector<Birth> births_of_tensors(const Dump& dump, const std::vector<uint32_t>& tensors);
std::vector<Birth> births_of_nodes(const Dump& dump, const std::vector<uint32_t>& nodes);

// At many different times, up to now. What was created within a few milliseconds was created at one time, unless the
// program has not done much else since it began.
bool grew_for_long(const Births& births);

}  // namespace tensorscope::analyzer
