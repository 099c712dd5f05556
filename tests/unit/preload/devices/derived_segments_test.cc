// SPDX-License-Identifier: Apache-2.0
// Segments from the runtime's blocks and the blocks that torch's allocator reported.
#include <gtest/gtest.h>

#include <vector>

#include "devices/segments.h"
#include "dump/device_chunks.h"
#include "live/runtime_table.h"

namespace tensorscope::devices {
namespace {

constexpr Device kFirst = {1, 0}, kSecond = {1, 1}, kHost = {0, -1};
constexpr uint64_t kMebibyte = uint64_t{1} << 20;

class DerivedSegmentsTest : public testing::Test {
 protected:
  void segment(uint64_t address, uint64_t nbytes, Device device = kFirst, bool by_torch = true) {
    live::RuntimeEntry entry = {};
    entry.pointer = reinterpret_cast<const void*>(address);
    entry.nbytes = nbytes;
    entry.by_torch = by_torch;
    entry.device = device;
    runtime_.push_back(entry);
  }
  void block(uint64_t address, uint64_t nbytes, Device device = kFirst) {
    live::AllocationEntry entry = {};
    entry.pointer = reinterpret_cast<const void*>(address);
    entry.nbytes = nbytes;
    entry.device = device;
    allocations_.push_back(entry);
  }
  DeviceSegments derive(Device device = kFirst) {
    live::SnapshotView view;
    view.runtime_blocks = {runtime_.data(), runtime_.size()};
    view.allocations = {allocations_.data(), allocations_.size()};
    return derive_segments(view, device, outside_);
  }
  static std::vector<std::vector<uint64_t>> rows(const std::vector<format::SegmentBlock>& blocks) {
    std::vector<std::vector<uint64_t>> result;
    for (const format::SegmentBlock& b : blocks) result.push_back({b.address(), b.size(), uint64_t(b.state())});
    return result;
  }

  std::vector<live::RuntimeEntry> runtime_;
  std::vector<live::AllocationEntry> allocations_;
  uint64_t outside_ = 0;
};

constexpr uint64_t kUsed = 0, kFree = 2;  // format::BlockState

TEST_F(DerivedSegmentsTest, GapsAreFreeBlocksAndSumsAgree) {
  segment(100 * kMebibyte, 20 * kMebibyte);
  segment(50 * kMebibyte, 2 * kMebibyte);
  block(103 * kMebibyte, kMebibyte);
  block(50 * kMebibyte, 512);
  block(119 * kMebibyte, kMebibyte);
  block(104 * kMebibyte, kMebibyte);
  const DeviceSegments derived = derive();
  ASSERT_EQ(derived.segments.size(), 2u);
  EXPECT_EQ(derived.device, 0);
  EXPECT_EQ(derived.segments[0].address(), 50 * kMebibyte);
  EXPECT_EQ(derived.segments[0].allocated(), 512u);
  EXPECT_EQ(derived.segments[0].blocks(), 2u);
  EXPECT_EQ(derived.segments[0].flags(), uint8_t(format::SegmentFlag::small));
  EXPECT_EQ(derived.segments[1].allocated(), 3 * kMebibyte);
  EXPECT_EQ(derived.segments[1].flags(), 0);
  const std::vector<std::vector<uint64_t>> expected = {
      {50 * kMebibyte, 512, kUsed},
      {50 * kMebibyte + 512, 2 * kMebibyte - 512, kFree},
      {100 * kMebibyte, 3 * kMebibyte, kFree},
      {103 * kMebibyte, kMebibyte, kUsed},
      {104 * kMebibyte, kMebibyte, kUsed},
      {105 * kMebibyte, 14 * kMebibyte, kFree},
      {119 * kMebibyte, kMebibyte, kUsed},
  };
  EXPECT_EQ(rows(derived.blocks), expected);
  EXPECT_EQ(outside_, 0u);
}

TEST_F(DerivedSegmentsTest, OtherDevicesAndOtherLibrariesAreLeftOut) {
  segment(10 * kMebibyte, 2 * kMebibyte);
  segment(20 * kMebibyte, 2 * kMebibyte, kSecond);
  segment(30 * kMebibyte, 2 * kMebibyte, kFirst, false);
  segment(40 * kMebibyte, 2 * kMebibyte, kHost);
  block(20 * kMebibyte, kMebibyte, kSecond);
  block(40 * kMebibyte, kMebibyte, kHost);
  ASSERT_EQ(derive().segments.size(), 1u);
  EXPECT_EQ(derive().segments[0].allocated(), 0u);
  ASSERT_EQ(derive(kSecond).segments.size(), 1u);
  EXPECT_EQ(derive(kSecond).segments[0].allocated(), kMebibyte);
  EXPECT_EQ(outside_, 0u);
}

TEST_F(DerivedSegmentsTest, BlocksInNoSegmentAreCounted) {
  segment(10 * kMebibyte, 2 * kMebibyte);
  block(kMebibyte, 100);
  block(10 * kMebibyte, 1000);
  block(12 * kMebibyte - 10, 20);  // begins inside
  block(90 * kMebibyte, 7);
  const DeviceSegments derived = derive();
  EXPECT_EQ(outside_, 127u);
  EXPECT_EQ(derived.segments[0].allocated(), 1000u);
  EXPECT_EQ(derived.blocks.back().address() + derived.blocks.back().size(), 12 * kMebibyte);
}

TEST_F(DerivedSegmentsTest, OnlyDevicesOfThisProcessAreAskedFor) {
  live::DeviceTotals totals[4] = {};
  totals[1].device = kFirst;
  totals[1].used_here = true;
  totals[2].device = kSecond;  // used by the parent alone
  totals[3].device = {13, 0};  // not CUDA's
  totals[3].used_here = true;
  live::SnapshotView view;
  view.devices = {totals, 4};
  int8_t devices[DriverAnswers::kMaxDevices];
  ASSERT_EQ(dump::used_cuda_devices(view, devices), 1u);
  EXPECT_EQ(devices[0], 0);
}

}  // namespace
}  // namespace tensorscope::devices
