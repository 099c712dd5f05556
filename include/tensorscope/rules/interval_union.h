// SPDX-License-Identifier: Apache-2.0
// Memory that several storages may lie in, counted once.
//
// Context: any that may allocate. Not thread-safe. Units: bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace tensorscope::rules {

// The union of intervals, which says how much of a new one was not yet in it.
class IntervalUnion {
 public:
  uint64_t add(uint64_t begin, uint64_t end) {
    uint64_t fresh = end - begin;
    auto at = parts_.upper_bound(begin);
    if (at != parts_.begin() && std::prev(at)->second >= begin) --at;
    while (at != parts_.end() && at->first <= end) {
      uint64_t low = std::max(at->first, begin), high = std::min(at->second, end);
      if (low < high) fresh -= high - low;
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = parts_.erase(at);
    }
    parts_.emplace(begin, end);
    return fresh;
  }

 private:
  std::map<uint64_t, uint64_t> parts_;  // begin -> end, disjoint
};

}  // namespace tensorscope::rules
