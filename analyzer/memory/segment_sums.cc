// SPDX-License-Identifier: Apache-2.0
#include "memory/segment_sums.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

using format::BlockState;

// What expandable segments grow and shrink by (kSmallBuffer and kLargeBuffer in c10/cuda/CUDACachingAllocator.cpp).
constexpr uint64_t kSmallPage = uint64_t{2} << 20, kLargePage = uint64_t{20} << 20;

// Of a free block: what its segment can do without.
uint64_t releasable(const Segment& segment, const SegmentBlock& block) {
  if (segment.private_pool()) return 0;  // keeps its segments as long as it lives
  if (!segment.expandable) return block.size == segment.size ? block.size : 0;
  const uint64_t page = segment.small ? kSmallPage : kLargePage;
  const uint64_t offset = block.address - segment.address;
  const uint64_t first = (offset + page - 1) / page, end = (offset + block.size) / page;
  return end > first ? (end - first) * page : 0;
}

void add(SegmentSums& sums, const DeviceMemory& memory, const Segment& segment) {
  sums.segments += 1;
  sums.expandable += segment.expandable;
  sums.reserved += segment.size;
  for (const SegmentBlock& block : covering_blocks(memory, segment)) {
    switch (BlockState(block.state)) {
      case BlockState::allocated:
        sums.allocated += block.size;
        sums.allocated_blocks += 1;
        if (block.requested != 0 && block.requested < block.size) sums.rounding += block.size - block.requested;
        break;
      case BlockState::pending_free:
        sums.pending += block.size;
        sums.pending_blocks += 1;
        break;
      case BlockState::free:
        sums.free += block.size;
        sums.free_blocks += 1;
        sums.largest_free = std::max(sums.largest_free, block.size);
        sums.releasable += releasable(segment, block);
        break;
    }
  }
}

}  // namespace

std::vector<SegmentBlock> covering_blocks(const DeviceMemory& memory, const Segment& segment) {
  std::vector<SegmentBlock> blocks;
  blocks.reserve(segment.block_count);
  uint64_t covered = segment.address;
  auto cover_until = [&](uint64_t end) {
    if (covered < end) blocks.push_back({covered, end - covered, 0, uint8_t(BlockState::free)});
  };
  for (const SegmentBlock& block : memory.blocks_of(segment)) {
    cover_until(block.address);
    blocks.push_back(block);
    covered = block.address + block.size;
  }
  cover_until(segment.address + segment.size);
  return blocks;
}

DeviceSegments sum_segments(const DeviceMemory& memory) {
  DeviceSegments result;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t, bool>, SegmentSums> groups;
  for (const Segment& segment : memory.segments) {
    add(result.all, memory, segment);
    add(groups[{segment.stream, segment.pool, segment.pool_user, segment.small}], memory, segment);
  }
  for (const auto& [key, sums] : groups) {
    result.groups.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), sums});
  }
  std::stable_sort(result.groups.begin(), result.groups.end(),
                   [](const SegmentGroup& a, const SegmentGroup& b) { return a.sums.reserved > b.sums.reserved; });
  return result;
}

}  // namespace tensorscope::analyzer
