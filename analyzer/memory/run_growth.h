// SPDX-License-Identifier: Apache-2.0
// Whether memory grew over the run, and how much a step, from the history that a dump carries.
//
// Ends of steps are compared, which are at the same phase of the program; without steps, seconds. The first tenth is
// left out: models, optimizers and caches are made there.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

enum class GrowthKind : uint8_t {
  unknown,     // too few ends of steps, or seconds
  steady,      // no growth
  grew,        // all the time
  grew_first,  // more is alive at the end, but it did not grow all the time
};

struct RunGrowth {
  GrowthKind kind = GrowthKind::unknown;
  bool by_step = false;              // else by the second
  uint64_t units = 0;                // steps, or seconds, between `first` and `last`
  double bytes_each = 0;             // the median growth a step, or a second
  uint64_t first = 0, last = 0;      // bytes live at the ends that were compared
  uint64_t lowest = 0, highest = 0;  // between them
  uint64_t first_step = 0, last_step = 0;
};

// Of one device of the history.
RunGrowth run_growth(const History& history, size_t device);
// The device whose growth is largest; the first if there is no history.
size_t fastest_growing(const History& history);
// The one that says most of the run: whose memory grew, else that had the most.
size_t leading_device(const History& history);
// The most live bytes at once of a device.
uint64_t peak_of(const History& history, size_t device);

}  // namespace tensorscope::analyzer
