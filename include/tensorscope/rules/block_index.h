// SPDX-License-Identifier: Apache-2.0
// Which block contains an address. Blocks may be nested (a block inside a mapped file).
//
// Context: any that may allocate. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace tensorscope::rules {

// `Bounds`: bounds(number of a block) is the pair of its first address and its size. A block without a size contains
// its own address.
template <typename Bounds>
class BlockIndex {
 public:
  BlockIndex(const std::vector<uint32_t>& blocks, Bounds bounds) : bounds_(std::move(bounds)) {
    for (const uint32_t block : blocks) entries_.push_back({block, block});
    std::sort(entries_.begin(), entries_.end(),
              [&](const Entry& a, const Entry& b) { return begin(a.block) < begin(b.block); });
    for (size_t i = 1; i < entries_.size(); ++i) {
      const uint32_t before = entries_[i - 1].farthest;
      if (end(before) >= end(entries_[i].block)) entries_[i].farthest = before;
    }
  }

  std::optional<uint32_t> find(uint64_t address) const {
    const auto after = std::upper_bound(entries_.begin(), entries_.end(), address,
                                        [&](uint64_t value, const Entry& entry) { return value < begin(entry.block); });
    if (after == entries_.begin()) return std::nullopt;
    const Entry& entry = *std::prev(after);
    if (address < end(entry.block)) return entry.block;
    return address < end(entry.farthest) ? std::optional(entry.farthest) : std::nullopt;
  }

 private:
  struct Entry {
    uint32_t block, farthest;  // farthest: of the blocks that begin no later, the one that reaches farthest
  };
  uint64_t begin(uint32_t block) const { return bounds_(block).first; }
  uint64_t end(uint32_t block) const {
    const auto [first, size] = bounds_(block);
    return first + std::max<uint64_t>(size, 1);
  }

  Bounds bounds_;
  std::vector<Entry> entries_;
};

}  // namespace tensorscope::rules
