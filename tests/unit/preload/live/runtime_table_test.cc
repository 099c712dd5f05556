// SPDX-License-Identifier: Apache-2.0
#include "live/runtime_table.h"

#include "live/allocation_table.h"
#include "tracker_fixture.h"

namespace tensorscope::live {
namespace {

using RuntimeTableTest = RecorderTest;

TEST_F(RuntimeTableTest, ABlockOfTheRuntimeIsThereUntilItIsFreed) {
  t_fake_stack = {31, 32};
  RuntimeBlock block;
  block.pointer = fresh();
  block.nbytes = 4096;
  block.kind = RuntimeKind::pinned;
  block.by_torch = true;
  runtime_allocated(block);
  SnapshotView during;
  ASSERT_TRUE(during.take());
  const RuntimeEntry* entry = find(during.runtime_blocks, &RuntimeEntry::pointer, fresh());
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->nbytes, 4096u);
  EXPECT_EQ(RuntimeKind(entry->kind), RuntimeKind::pinned);
  EXPECT_EQ(entry->by_torch, 1u);
  EXPECT_EQ(entry->device.index, -1);
  EXPECT_EQ(during.sites[entry->site].python, 32u);
  EXPECT_EQ(allocation(during, fresh()), nullptr);
  EXPECT_EQ(site(during, {31, 32}).allocations_total, 0u);

  runtime_freed(fresh());
  runtime_freed(fresh());
  SnapshotView after;
  ASSERT_TRUE(after.take());
  EXPECT_EQ(find(after.runtime_blocks, &RuntimeEntry::pointer, fresh()), nullptr);
}

TEST_F(RuntimeTableTest, WhereTheAllocatorReportsNothingABlockOfTheRuntimeIsAnAllocation) {
  t_fake_stack = {33, 34};
  RuntimeBlock block;
  block.pointer = fresh();
  block.nbytes = 1000;
  block.kind = RuntimeKind::async;
  block.device = {1, 5};
  block.by_torch = block.is_allocation = true;
  runtime_allocated(block);
  SnapshotView during;
  ASSERT_TRUE(during.take());
  ASSERT_NE(find(during.runtime_blocks, &RuntimeEntry::pointer, fresh()), nullptr);
  const AllocationEntry* entry = allocation(during, fresh());
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(AllocationKind(entry->kind), AllocationKind::runtime);
  EXPECT_EQ(entry->device.index, 5);
  EXPECT_EQ(site(during, {33, 34}).bytes_live, 1000u);
  const auto on_device = [](const SnapshotView& view) {
    for (const DeviceTotals& totals : view.devices) {
      if (totals.device.type == 1 && totals.device.index == 5) return totals;
    }
    return DeviceTotals{};
  };
  EXPECT_EQ(on_device(during).live_bytes, 1000u);
  EXPECT_TRUE(on_device(during).used_here);

  runtime_freed(fresh());
  SnapshotView after;
  ASSERT_TRUE(after.take());
  EXPECT_EQ(allocation(after, fresh()), nullptr);
  EXPECT_EQ(find(after.runtime_blocks, &RuntimeEntry::pointer, fresh()), nullptr);
  EXPECT_EQ(on_device(after).live_bytes, 0u);
  EXPECT_EQ(on_device(after).peak_bytes, 1000u);
}

}  // namespace
}  // namespace tensorscope::live
