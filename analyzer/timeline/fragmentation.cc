// SPDX-License-Identifier: Apache-2.0
#include "timeline/fragmentation.h"

#include <algorithm>

namespace tensorscope::analyzer {

namespace {

struct Range {
  uint64_t begin = 0, end = 0;
  bool operator<(const Range& other) const { return begin < other.begin; }
};

Range range_of(uint64_t pointer, uint64_t nbytes) {
  return {pointer, pointer + std::min(nbytes, UINT64_MAX - pointer)};
}

}  // namespace

FreeMemory free_memory(const LiveState& state, Device device) {
  std::vector<Range> segments, blocks;
  for (const auto& [serial, block] : state.runtime_blocks) {
    if (block.by_torch && block.device == device) segments.push_back(range_of(block.pointer, block.nbytes));
  }
  FreeMemory found;
  found.segments = segments.size();
  if (segments.empty()) return found;
  for (const auto& [serial, a] : state.allocations) {
    if (a.device == device && a.nbytes != 0) blocks.push_back(range_of(a.pointer, a.nbytes));
  }
  std::sort(segments.begin(), segments.end());
  std::sort(blocks.begin(), blocks.end());
  auto block = blocks.begin();
  for (const Range& segment : segments) {
    found.reserved += segment.end - segment.begin;
    uint64_t at = segment.begin;
    const auto gap = [&](uint64_t end) {
      if (end <= at) return;
      found.free += end - at;
      found.largest = std::max(found.largest, end - at);
    };
    while (block != blocks.end() && block->begin < segment.begin) ++block;
    for (; block != blocks.end() && block->begin < segment.end; ++block) {
      gap(std::min(block->begin, segment.end));
      at = std::max(at, std::min(block->end, segment.end));
    }
    gap(segment.end);
  }
  return found;
}

}  // namespace tensorscope::analyzer
