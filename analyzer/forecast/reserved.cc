// SPDX-License-Identifier: Apache-2.0
#include "forecast/reserved.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

namespace tensorscope::analyzer::forecast {

namespace {

// The constants of c10/cuda/CUDACachingAllocator.cpp.
constexpr uint64_t kMinBlock = 512, kSmallSize = 1 << 20, kSmallBuffer = 2 << 20, kLargeBuffer = 20 << 20,
                   kMinLargeAlloc = 10 << 20, kRoundLarge = 2 << 20;

uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

class Allocator {
 public:
  ReservedPeaks peaks;

  uint32_t make(uint64_t request) {
    const uint64_t size = std::max(kMinBlock, round_up(request, kMinBlock));
    const bool small = size <= kSmallSize;
    auto& pool = pools_[small];
    const auto fitting = pool.lower_bound({size, 0, 0, 0});
    uint32_t id;
    if (fitting != pool.end()) {
      id = std::get<3>(*fitting);
      pool.erase(fitting);
    } else {
      id = new_segment(size, small);
    }
    cut(id, size);
    blocks_[id].free = false;
    allocated_ += blocks_[id].size;
    peaks.allocated = std::max(peaks.allocated, allocated_);
    return id;
  }

  void free(uint32_t id) {
    allocated_ -= blocks_[id].size;
    blocks_[id].free = true;
    const uint32_t before = blocks_[id].before, after = blocks_[id].after;
    if (after != kNone && blocks_[after].free) join(id, after);
    if (before != kNone && blocks_[before].free) {
      join(before, id);
      id = before;
    }
    pools_[blocks_[id].small].insert(key(id));
  }

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint64_t, uint32_t>;  // size, segment, offset, number
  struct Block {
    uint64_t size = 0, offset = 0;
    uint32_t segment = 0, before = kNone, after = kNone;
    bool small = false, free = true;
  };

  Key key(uint32_t id) const { return {blocks_[id].size, blocks_[id].segment, blocks_[id].offset, id}; }

  uint32_t new_segment(uint64_t size, bool small) {
    Block block;
    block.size = small ? kSmallBuffer : size < kMinLargeAlloc ? kLargeBuffer : round_up(size, kRoundLarge);
    block.segment = segments_++;
    block.small = small;
    peaks.reserved += block.size;
    blocks_.push_back(block);
    return uint32_t(blocks_.size() - 1);
  }

  void cut(uint32_t id, uint64_t size) {
    const uint64_t rest = blocks_[id].size - size;
    if (blocks_[id].small ? rest < kMinBlock : rest <= kSmallSize) return;
    Block tail = blocks_[id];
    tail.size = rest;
    tail.offset += size;
    tail.before = id;
    tail.free = true;
    const auto number = uint32_t(blocks_.size());
    if (tail.after != kNone) blocks_[tail.after].before = number;
    blocks_[id].size = size;
    blocks_[id].after = number;
    blocks_.push_back(tail);
    pools_[tail.small].insert(key(number));
  }

  // Both are free, or `first` is about to be; one that is in its pool leaves it.
  void join(uint32_t first, uint32_t second) {
    pools_[blocks_[first].small].erase(key(first));
    pools_[blocks_[second].small].erase(key(second));
    blocks_[first].size += blocks_[second].size;
    blocks_[first].after = blocks_[second].after;
    if (blocks_[second].after != kNone) blocks_[blocks_[second].after].before = first;
  }

  std::vector<Block> blocks_;
  std::array<std::set<Key>, 2> pools_;
  uint32_t segments_ = 0;
  uint64_t allocated_ = 0;
};

}  // namespace

ReservedPeaks reserved_peaks(const Replay& replay, const SizeValues& at) {
  Allocator allocator;
  std::vector<std::vector<uint32_t>> alive(
      replay.blocks.size());  // a what-if may make a replay block again before it is freed
  for (const Change& change : replay.changes) {
    const ReplayBlock& replay_block = replay.blocks[change.block];
    std::vector<uint32_t>& blocks = alive[change.block];
    if (change.made) {
      const double bytes = replay.growths[replay_block.growth].bytes(at) * replay_block.factor;
      if (bytes >= 0.5) blocks.push_back(allocator.make(uint64_t(std::llround(bytes))));
    } else if (!blocks.empty()) {
      allocator.free(blocks.back());
      blocks.pop_back();
    }
  }
  return allocator.peaks;
}

}  // namespace tensorscope::analyzer::forecast
