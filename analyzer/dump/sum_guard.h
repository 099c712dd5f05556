// SPDX-License-Identifier: Apache-2.0
// Refuses numbers of a hostile file that would make a sum over them overflow a signed 64-bit number.
#pragma once

#include <cstdint>
#include <limits>

namespace tensorscope::analyzer {

class SumGuard {
 public:
  bool admits(uint64_t bytes) {
    uint64_t sum = 0;
    if (__builtin_add_overflow(sum_, bytes, &sum) || sum > uint64_t(std::numeric_limits<int64_t>::max())) return false;
    sum_ = sum;
    return true;
  }

 private:
  uint64_t sum_ = 0;
};

}  // namespace tensorscope::analyzer
