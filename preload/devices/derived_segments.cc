// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "devices/segments.h"
#include "live/runtime_table.h"

namespace tensorscope::devices {

namespace {

constexpr uint64_t kSmallSegment = uint64_t{2} << 20;  // kSmallBuffer (c10/cuda/CUDACachingAllocator.cpp, 1.13 to 2.14)

bool is_on(Device a, Device b) { return a.type == b.type && a.index == b.index; }

struct Range {
  uint64_t begin, size;
  uint64_t end() const { return begin + size; }
  bool operator<(const Range& other) const { return begin < other.begin; }
};

std::vector<Range> segments_of(const live::SnapshotView& view, Device device) {
  std::vector<Range> ranges;
  for (const live::RuntimeEntry& block : view.runtime_blocks) {
    if (block.by_torch && is_on(block.device, device)) ranges.push_back({uint64_t(block.pointer), block.nbytes});
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

std::vector<Range> blocks_of(const live::SnapshotView& view, Device device) {
  std::vector<Range> ranges;
  for (const live::AllocationEntry& block : view.allocations) {
    if (is_on(block.device, device)) ranges.push_back({uint64_t(block.pointer), block.nbytes});
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace

DeviceSegments derive_segments(const live::SnapshotView& view, Device device, uint64_t& outside) {
  DeviceSegments derived;
  derived.device = device.index;
  const std::vector<Range> blocks = blocks_of(view, device);
  auto block = blocks.begin();
  outside = 0;
  const auto pass_until = [&](uint64_t address) {
    for (; block != blocks.end() && block->begin < address; ++block) outside += block->size;
  };
  for (const Range& segment : segments_of(view, device)) {
    pass_until(segment.begin);
    const size_t first = derived.blocks.size();
    uint64_t allocated = 0, next = segment.begin;
    const auto add_free_until = [&](uint64_t address) {
      if (address > next) derived.blocks.emplace_back(next, address - next, 0, format::BlockState::free);
    };
    for (; block != blocks.end() && block->begin < segment.end(); ++block) {
      if (block->begin < next || block->end() > segment.end()) {  // not of this moment
        outside += block->size;
        continue;
      }
      add_free_until(block->begin);
      derived.blocks.emplace_back(block->begin, block->size, 0, format::BlockState::allocated);
      allocated += block->size;
      next = block->end();
    }
    add_free_until(segment.end());
    const unsigned flags = segment.size == kSmallSegment ? unsigned(format::SegmentFlag::small) : 0;
    derived.segments.emplace_back(segment.begin, segment.size, allocated, allocated, 0, 0, 0, 0,
                                  uint32_t(derived.blocks.size() - first), uint8_t(flags));
  }
  pass_until(UINT64_MAX);
  return derived;
}

}  // namespace tensorscope::devices
