// SPDX-License-Identifier: Apache-2.0
#include "text/dump/segment_map.h"

#include <gtest/gtest.h>

#include "dump_generated.h"
#include "memory/segment_sums.h"

namespace tensorscope::text {
namespace {

constexpr auto kAllocated = uint8_t(format::BlockState::allocated),
               kPending = uint8_t(format::BlockState::pending_free), kFree = uint8_t(format::BlockState::free);

struct Part {
  uint64_t size;
  uint8_t state;
};

std::string map_of(const std::vector<Part>& parts, int width) {
  analyzer::DeviceMemory memory;
  analyzer::Segment& segment = memory.segments.emplace_back();
  segment.address = 0x1000;
  for (const Part& part : parts) {
    memory.blocks.push_back({segment.address + segment.size, part.size, 0, part.state});
    segment.size += part.size;
  }
  segment.block_count = uint32_t(parts.size());
  return segment_map(segment, analyzer::covering_blocks(memory, segment), width);
}

TEST(SegmentMapTest, EqualParts) {
  EXPECT_EQ(map_of({{400, kAllocated}, {300, kFree}, {300, kPending}}, 10), "####...www");
}

TEST(SegmentMapTest, PartsOfSeveralKinds) {
  EXPECT_EQ(map_of({{150, kAllocated}, {850, kFree}}, 10), "#+........");
  EXPECT_EQ(map_of({{100, kAllocated}, {50, kPending}, {50, kAllocated}, {800, kFree}}, 10), "#+........");
}

TEST(SegmentMapTest, ManySmallBlocksAreOnePart) {
  std::vector<Part> parts(1000, {1, kAllocated});
  EXPECT_EQ(map_of(parts, 4), "####");
  parts[600].state = kFree;
  EXPECT_EQ(map_of(parts, 4), "##+#");
}

TEST(SegmentMapTest, FewerBytesThanParts) { EXPECT_EQ(map_of({{1, kAllocated}, {1, kFree}}, 8), "####...."); }

TEST(SegmentMapTest, HugeSegmentsDoNotOverflow) {
  EXPECT_EQ(map_of({{uint64_t{1} << 61, kAllocated}, {uint64_t{1} << 61, kFree}}, 40),
            std::string(20, '#') + std::string(20, '.'));
}

TEST(SegmentMapTest, AnEmptySegment) { EXPECT_EQ(map_of({}, 8), ""); }

}  // namespace
}  // namespace tensorscope::text
