// SPDX-License-Identifier: Apache-2.0
#include "memory/segment_sums.h"

#include <gtest/gtest.h>

#include <vector>

#include "dump_generated.h"
#include "support/sample_values.h"

namespace tensorscope::analyzer {
namespace {

using testing::kMiB;

constexpr auto kAllocated = uint8_t(format::BlockState::allocated),
               kPending = uint8_t(format::BlockState::pending_free), kFree = uint8_t(format::BlockState::free);

struct Part {
  uint64_t size;
  uint8_t state;
  uint64_t requested = 0;
};

// Adds a segment of these blocks; its fields can be changed afterwards.
Segment& add_segment(DeviceMemory& memory, uint64_t address, const std::vector<Part>& parts) {
  Segment segment;
  segment.address = address;
  segment.first_block = uint32_t(memory.blocks.size());
  segment.block_count = uint32_t(parts.size());
  for (const Part& part : parts) {
    memory.blocks.push_back({address + segment.size, part.size, part.requested, part.state});
    segment.size += part.size;
  }
  memory.segments.push_back(segment);
  return memory.segments.back();
}

TEST(SegmentSumsTest, NothingIsNotFragmented) {
  const DeviceSegments sums = sum_segments({});
  EXPECT_EQ(sums.all.reserved, 0u);
  EXPECT_EQ(sums.all.fragmentation(), 0);
  EXPECT_TRUE(sums.groups.empty());
}

TEST(SegmentSumsTest, EveryByteOfASegmentIsInOneSum) {
  DeviceMemory memory;
  add_segment(memory, 0x1000000, {{6 * kMiB, kAllocated, 5 * kMiB}, {kMiB, kPending}, {3 * kMiB, kFree}});
  add_segment(memory, 0x9000000, {{kMiB, kFree}, {9 * kMiB, kAllocated}});
  const SegmentSums all = sum_segments(memory).all;
  EXPECT_EQ(all.segments, 2u);
  EXPECT_EQ(all.reserved, 20 * kMiB);
  EXPECT_EQ(all.allocated, 15 * kMiB);
  EXPECT_EQ(all.pending, kMiB);
  EXPECT_EQ(all.free, 4 * kMiB);
  EXPECT_EQ(all.allocated_blocks, 2u);
  EXPECT_EQ(all.pending_blocks, 1u);
  EXPECT_EQ(all.free_blocks, 2u);
  EXPECT_EQ(all.rounding, kMiB);  // of the other block it is not known
  EXPECT_EQ(all.largest_free, 3 * kMiB);
  EXPECT_DOUBLE_EQ(all.fragmentation(), 0.25);
}

TEST(SegmentSumsTest, WholeFreeSegmentsCanGoBack) {
  DeviceMemory memory;
  add_segment(memory, 0x1000000, {{2 * kMiB, kFree}});
  add_segment(memory, 0x9000000, {{kMiB, kAllocated}, {4 * kMiB, kFree}});
  const SegmentSums all = sum_segments(memory).all;
  EXPECT_EQ(all.releasable, 2 * kMiB);
  EXPECT_EQ(all.between(), 4 * kMiB);
}

TEST(SegmentSumsTest, APrivatePoolKeepsItsSegments) {
  DeviceMemory memory;
  add_segment(memory, 0x1000000, {{2 * kMiB, kFree}}).pool_user = 1;
  add_segment(memory, 0x9000000, {{2 * kMiB, kFree}}).pool = 1;
  EXPECT_EQ(sum_segments(memory).all.releasable, 0u);
}

TEST(SegmentSumsTest, ExpandableSegmentsGoBackInPages) {
  DeviceMemory memory;
  // Free from 5 to 65 MiB: the pages from 20 to 60 MiB.
  add_segment(memory, 0x100000000, {{5 * kMiB, kAllocated}, {60 * kMiB, kFree}, {15 * kMiB, kAllocated}}).expandable =
      true;
  EXPECT_EQ(sum_segments(memory).all.releasable, 40 * kMiB);
  memory.segments[0].small = true;  // from 6 to 64 MiB
  EXPECT_EQ(sum_segments(memory).all.releasable, 58 * kMiB);
}

TEST(SegmentSumsTest, FreeMemoryWithinOnePageStays) {
  DeviceMemory memory;
  add_segment(memory, 0x100000000, {{kMiB, kAllocated}, {18 * kMiB, kFree}, {kMiB, kAllocated}}).expandable = true;
  EXPECT_EQ(sum_segments(memory).all.releasable, 0u);
}

TEST(SegmentSumsTest, GroupsServeTheSameRequests) {
  DeviceMemory memory;
  add_segment(memory, 0x1000000, {{kMiB, kAllocated}, {kMiB, kFree}}).small = true;
  add_segment(memory, 0x2000000, {{20 * kMiB, kAllocated}}).stream = 7;
  add_segment(memory, 0x4000000, {{4 * kMiB, kFree}}).pool = 3;
  add_segment(memory, 0x5000000, {{2 * kMiB, kFree}}).small = true;
  add_segment(memory, 0x6000000, {{8 * kMiB, kAllocated}});
  const DeviceSegments sums = sum_segments(memory);
  ASSERT_EQ(sums.groups.size(), 4u);
  EXPECT_EQ(sums.groups[0].stream, 7u);
  EXPECT_EQ(sums.groups[1].sums.reserved, 8 * kMiB);
  EXPECT_FALSE(sums.groups[1].small);
  EXPECT_TRUE(sums.groups[2].small || sums.groups[3].small);
  uint64_t reserved = 0, free = 0;
  for (const SegmentGroup& group : sums.groups) {
    reserved += group.sums.reserved;
    free += group.sums.free;
    if (group.small) {
      EXPECT_EQ(group.sums.segments, 2u);
      EXPECT_EQ(group.sums.largest_free, 2 * kMiB);
    }
    if (group.pool == 3) {
      EXPECT_EQ(group.sums.free, 4 * kMiB);
    }
  }
  EXPECT_EQ(reserved, sums.all.reserved);
  EXPECT_EQ(free, sums.all.free);
}

TEST(SegmentSumsTest, HolesBetweenBlocksAreFree) {
  DeviceMemory memory;
  Segment& segment = add_segment(memory, 0x1000, {{0x100, kAllocated}, {0x100, kAllocated}});
  memory.blocks[0].address = 0x1100;
  memory.blocks[1].address = 0x1300;
  segment.size = 0x600;
  const std::vector<SegmentBlock> blocks = covering_blocks(memory, segment);
  std::vector<uint64_t> addresses;
  uint64_t sizes = 0;
  for (const SegmentBlock& block : blocks) {
    addresses.push_back(block.address);
    sizes += block.size;
  }
  EXPECT_EQ(addresses, (std::vector<uint64_t>{0x1000, 0x1100, 0x1200, 0x1300, 0x1400}));
  EXPECT_EQ(sizes, 0x600u);
  EXPECT_EQ(sum_segments(memory).all.free, 0x400u);
}

}  // namespace
}  // namespace tensorscope::analyzer
