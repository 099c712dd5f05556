// SPDX-License-Identifier: Apache-2.0
// What was alive at the highest peak, by line. Sums over all rows equal the peak's bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/opened_dump.h"

namespace tensorscope::analyzer {

// What memory of the peak was for, in bytes by category. Python was not looked at when the peak was kept: a category is
// that of the tensors of the same site that are alive now, or inferred from where the memory was made and how it was
// freed.
class PeakCategories {
 public:
  void add(Category category, CategorySource source, uint64_t bytes);
  void add(const PeakCategories& other);
  uint64_t bytes(Category category) const { return bytes_[size_t(category)]; }
  // Of more than half of the bytes; else unknown.
  Category most() const;
  CategorySource source(Category category) const;
  uint64_t sum() const;

 private:
  std::array<uint64_t, category::kCategories> bytes_{}, inferred_{};
};

struct PeakPlace {
  uint32_t site = 0;  // the largest of the line's; 0: of no known line
  std::string where;  // "train.py:57 train_step"
  uint64_t bytes = 0, allocations = 0;
  PeakCategories categories;
};

struct PeakPlaces {
  PeakCategories categories;    // of all rows; unknown: also of what has no row
  std::vector<PeakPlace> rows;  // the largest first
  uint64_t other_sites = 0;     // without rows in the dump
  uint64_t other_bytes = 0, other_allocations = 0;
  int64_t unattributed = 0;  // the peak's bytes less those of all sites: other threads allocated or freed at it
};

PeakPlaces peak_places(OpenedDump& opened);
// Of each of the peak's sites.
std::vector<PeakCategories> peak_categories(OpenedDump& opened);

// By how much what was kept is less than the peak: exact of one device; of several at most so much.
struct PeakGap {
  uint64_t bytes = 0;
  bool exact = false;
};
PeakGap peak_gap(const Dump& dump);

}  // namespace tensorscope::analyzer
