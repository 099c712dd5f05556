// SPDX-License-Identifier: Apache-2.0
// What was alive at the highest peak, by line. Sums over all rows equal the peak's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/opened_dump.h"

namespace tensorscope::analyzer {

struct PeakPlace {
  uint32_t site = 0;  // the largest of the line's; 0: of no known line
  std::string where;  // "train.py:57 train_step"
  uint64_t bytes = 0, allocations = 0;
  // Of what is alive there now, if it is of one category: Python was not looked at when the peak was kept.
  Category category = Category::unknown;
};

struct PeakPlaces {
  std::vector<PeakPlace> rows;  // the largest first
  uint64_t other_sites = 0;     // without rows in the dump
  uint64_t other_bytes = 0, other_allocations = 0;
  int64_t unattributed = 0;  // the peak's bytes less those of all sites: other threads allocated or freed at it
};

PeakPlaces peak_places(OpenedDump& opened);

// By how much what was kept is less than the peak: exact of one device; of several at most so much.
struct PeakGap {
  uint64_t bytes = 0;
  bool exact = false;
};
PeakGap peak_gap(const Dump& dump);

}  // namespace tensorscope::analyzer
