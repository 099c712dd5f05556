// SPDX-License-Identifier: Apache-2.0
// Whether a number of things became more, one value a dump in order of time: what `diff` calls steady and `leaks` even.
//
// Context: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorscope::analyzer {

// Each value is larger than the one before; false for fewer than two.
inline bool grows(const std::vector<uint64_t>& values) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] <= values[i - 1]) return false;
  }
  return values.size() > 1;
}

// Likewise for three and more, by increments of which the smallest is at least half of the largest: a leak makes the
// same every step, a warm-up does not.
inline bool grows_evenly(const std::vector<uint64_t>& values) {
  if (values.size() < 3 || !grows(values)) return false;
  uint64_t least = UINT64_MAX, most = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    least = std::min(least, values[i] - values[i - 1]);
    most = std::max(most, values[i] - values[i - 1]);
  }
  return least >= most / 2;
}

}  // namespace tensorscope::analyzer
