// SPDX-License-Identifier: Apache-2.0
// Shares the bytes of each allocation between the storages in it, so that every byte counts once. What is left of an
// allocation that has a storage is rounding by the allocator, and counts for its first storage.
//
// Context: any that may allocate. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tensorscope::rules {

class AllocationShares {
 public:
  static constexpr uint32_t kNoItem = UINT32_MAX;

  // `sizes`: in bytes, by number of the allocation.
  explicit AllocationShares(std::vector<uint64_t> sizes) : left_(std::move(sizes)), first_(left_.size(), kNoItem) {}

  // How many of a storage's bytes count as in this allocation. `item`: the caller's number for the storage.
  uint64_t claim(uint32_t allocation, uint64_t bytes, uint32_t item) {
    const uint64_t inside = std::min(bytes, left_[allocation]);
    left_[allocation] -= inside;
    if (first_[allocation] == kNoItem) first_[allocation] = item;
    return inside;
  }
  // Of the first storage in it; kNoItem where there is none.
  uint32_t first_item(uint32_t allocation) const { return first_[allocation]; }
  uint64_t left(uint32_t allocation) const { return left_[allocation]; }
  size_t size() const { return left_.size(); }

 private:
  std::vector<uint64_t> left_;
  std::vector<uint32_t> first_;
};

}  // namespace tensorscope::rules
