// SPDX-License-Identifier: Apache-2.0
// Raises a mark that several threads raise at once.
//
// Context: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorscope {

inline void fetch_max(std::atomic<uint64_t>& mark, uint64_t value) {
  uint64_t known = mark.load(std::memory_order_relaxed);
  while (__builtin_expect(value > known, false)) {
    if (mark.compare_exchange_weak(known, value, std::memory_order_relaxed)) return;
  }
}

}  // namespace tensorscope
