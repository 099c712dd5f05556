// SPDX-License-Identifier: Apache-2.0
// Events in, snapshot out: what a hook says is what a dump will hold.
// Covers: preload/live/{allocation_table,device_table,tensor_serial,tensor_table,thread_table,snapshot_view}.cc
#include "live/tracker.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "live/allocation_table.h"
#include "support/coverage.h"
#include "tracker_fixture.h"

namespace tensorscope::live {
namespace {

TEST_F(RecorderTest, ATensorIsThereFromItsConstructionToItsDestruction) {
  t_fake_stack = {11, 12};
  tensor_constructed(fresh());
  SnapshotView during;
  ASSERT_TRUE(during.take());
  const TensorEntry* entry = tensor(during, fresh());
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(during.sites[entry->site].native, 11u);
  EXPECT_EQ(during.sites[entry->site].python, 12u);
  EXPECT_GT(entry->created_ns, 0u);
  EXPECT_LE(entry->created_ns, during.taken_ns);
  EXPECT_LE(entry->serial, during.serial);
  EXPECT_EQ(entry->released, 0u);

  tensor_destroyed(fresh());
  SnapshotView after;
  ASSERT_TRUE(after.take());
  EXPECT_EQ(tensor(after, fresh()), nullptr);
  EXPECT_EQ(site(after, {11, 12}).tensors_live, 0u);
  EXPECT_EQ(site(after, {11, 12}).tensors_total, 1u);
}

TEST_F(RecorderTest, WhatIsDisregardedWasNeverThere) {
  t_fake_stack = {13, 14};
  tensor_constructed(fresh());
  tensor_constructed(static_cast<const char*>(fresh()) + 64);
  untrack_tensor(fresh());
  untrack_tensor(fresh());
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(tensor(view, fresh()), nullptr);
  EXPECT_EQ(site(view, {13, 14}).tensors_live, 1u);
  EXPECT_EQ(site(view, {13, 14}).tensors_total, 1u);
  tensor_destroyed(static_cast<const char*>(fresh()) + 64);
}

// What hooks see of a c10::Storage: a word that holds the address of a StorageImpl, whose third word is the data
// pointer.
struct FakeStorage {
  explicit FakeStorage(const void* data) : words{nullptr, nullptr, data, nullptr} {}
  const void* words[4];
  const void* impl = words;
};

TEST_F(RecorderTest, ATensorThatTakesTheFreshBlockSharesItsSite) {
  const FakeStorage taken(fresh(0));
  t_fake_stack = {10, 20};
  cpu_allocated(fresh(0), 64);
  t_fake_stack = {11, 20};  // another native frame of the same operation
  const int captures = t_captures;
  tensor_takes_storage(fresh(1), &taken.impl);
  tensor_constructed(fresh(1));
  EXPECT_EQ(t_captures, captures);
  tensor_takes_storage(fresh(2), &taken.impl);  // a second tensor on the same storage is its own place
  tensor_constructed(fresh(2));
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(tensor(view, fresh(1))->site, allocation(view, fresh(0))->site);
  EXPECT_EQ(view.sites[tensor(view, fresh(2))->site].native, 11u);
  tensor_destroyed(fresh(1));
  tensor_destroyed(fresh(2));
  cpu_freed(fresh(0));
}

TEST_F(RecorderTest, AnotherPythonInstructionOrAnotherBlockIsAnotherSite) {
  const FakeStorage first(fresh(0)), other(fresh(5)), none(nullptr);
  t_fake_stack = {10, 20};
  cpu_allocated(fresh(0), 64);
  tensor_takes_storage(fresh(1), &other.impl);
  t_fake_stack = {12, 20};
  tensor_constructed(fresh(1));
  tensor_takes_storage(fresh(2), &none.impl);
  tensor_constructed(fresh(2));
  t_fake_stack = {13, 21};  // the program has gone on
  tensor_takes_storage(fresh(3), &first.impl);
  tensor_constructed(fresh(3));
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(view.sites[tensor(view, fresh(1))->site].native, 12u);
  EXPECT_EQ(view.sites[tensor(view, fresh(2))->site].native, 12u);
  EXPECT_EQ(view.sites[tensor(view, fresh(3))->site].native, 13u);
  for (size_t i = 1; i < 4; ++i) tensor_destroyed(fresh(i));
  cpu_freed(fresh(0));
}

TEST_F(RecorderTest, NestedConstructorsAreOneTensor) {
  t_fake_stack = {21, 0};
  const int captures = t_captures;
  tensor_constructed(fresh());
  tensor_constructed(fresh());
  EXPECT_EQ(t_captures - captures, 1);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(site(view, {21, 0}).tensors_total, 1u);
  tensor_destroyed(fresh());
}

TEST_F(RecorderTest, ATensorAtTheAddressOfADeadOneIsNew) {
  t_fake_stack = {22, 0};
  tensor_constructed(fresh());
  SnapshotView first;
  ASSERT_TRUE(first.take());
  // Destroyed by another thread: the constructing thread remembers it still.
  std::thread([&] { tensor_destroyed(fresh()); }).join();
  t_fake_stack = {23, 0};
  tensor_constructed(fresh());
  SnapshotView second;
  ASSERT_TRUE(second.take());
  ASSERT_NE(tensor(second, fresh()), nullptr);
  EXPECT_GT(tensor(second, fresh())->serial, tensor(first, fresh())->serial);
  EXPECT_EQ(second.sites[tensor(second, fresh())->site].native, 23u);
  tensor_destroyed(fresh());
}

TEST_F(RecorderTest, AMissedDestructorIsCountedAndTheEntryReplaced) {
  const uint64_t missed = coverage(Subject::tensors).missed.load();
  t_fake_stack = {24, 0};
  tensor_constructed(fresh(0));
  tensor_constructed(fresh(64));  // another one, so that the first is not taken for a nested constructor
  t_fake_stack = {25, 0};
  tensor_constructed(fresh(0));
  EXPECT_EQ(coverage(Subject::tensors).missed.load(), missed + 1);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(view.sites[tensor(view, fresh(0))->site].native, 25u);
  EXPECT_EQ(site(view, {24, 0}).tensors_live, 1u);
  tensor_destroyed(fresh(0));
  tensor_destroyed(fresh(64));
}

TEST_F(RecorderTest, AReleasedTensorIsMarked) {
  tensor_constructed(fresh());
  tensor_released(fresh());
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(tensor(view, fresh())->released, 1u);
  tensor_destroyed(fresh());
}

TEST_F(RecorderTest, UnknownAddressesAreIgnored) {
  tensor_destroyed(fresh());
  tensor_released(fresh());
  cpu_freed(fresh());
  cpu_freed(nullptr);
  node_destroyed(fresh());
  memory_reported(fresh(), -64, 0, 0, {1, 0});
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(tensor(view, fresh()), nullptr);
}

TEST_F(RecorderTest, CountersOfASiteAreExact) {
  t_fake_stack = {31, 32};
  cpu_allocated(fresh(0), 1000);
  cpu_allocated(fresh(1), 500);
  cpu_freed(fresh(0));
  cpu_allocated(fresh(2), 200);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  const SiteCounters& row = site(view, {31, 32});
  EXPECT_EQ(row.allocations_live, 2u);
  EXPECT_EQ(row.allocations_total, 3u);
  EXPECT_EQ(row.bytes_live, 700u);
  EXPECT_EQ(row.bytes_total, 1700u);
  EXPECT_EQ(row.bytes_peak, 1500u);
  cpu_freed(fresh(1));
  cpu_freed(fresh(2));
}

TEST_F(RecorderTest, DeviceTotalsAreExact) {
  SnapshotView before;
  ASSERT_TRUE(before.take());
  const DeviceTotals start = before.devices[0];
  cpu_allocated(fresh(0), uint64_t{1} << 40);
  cpu_freed(fresh(0));
  cpu_allocated(fresh(1), 64);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  const DeviceTotals& cpu = view.devices[0];
  EXPECT_EQ(cpu.device.type, 0);
  EXPECT_EQ(cpu.live_bytes, start.live_bytes + 64);
  EXPECT_EQ(cpu.live_count, start.live_count + 1);
  EXPECT_EQ(cpu.total_count, start.total_count + 2);
  EXPECT_EQ(cpu.total_bytes, start.total_bytes + (uint64_t{1} << 40) + 64);
  EXPECT_GE(cpu.peak_bytes, uint64_t{1} << 40);
  cpu_freed(fresh(1));
}

// Of what its parent did, a forked child counts what is alive.
TEST_F(RecorderTest, AChildsTotalsAndPeaksBeginWithWhatLives) {
  t_fake_stack = {33, 34};
  cpu_allocated(fresh(0), uint64_t{1} << 40);
  cpu_freed(fresh(0));
  cpu_allocated(fresh(1), 64);
  tensor_constructed(fresh(2));
  tensor_destroyed(fresh(2));
  after_fork_in_child();
  SnapshotView view;
  ASSERT_TRUE(view.take());
  const DeviceTotals& cpu = view.devices[0];
  EXPECT_EQ(cpu.total_count, cpu.live_count);
  EXPECT_EQ(cpu.total_bytes, cpu.live_bytes);
  EXPECT_EQ(cpu.peak_bytes, cpu.live_bytes);
  const SiteCounters& row = site(view, {33, 34});
  EXPECT_EQ(row.allocations_live, 1u);
  EXPECT_EQ(row.allocations_total, 1u);
  EXPECT_EQ(row.tensors_total, 0u);
  EXPECT_EQ(row.bytes_total, 64u);
  EXPECT_EQ(row.bytes_peak, 64u);
  cpu_freed(fresh(1));
  SnapshotView after;
  ASSERT_TRUE(after.take());
  EXPECT_EQ(after.devices[0].total_count, cpu.total_count);
  EXPECT_EQ(after.devices[0].live_count, cpu.live_count - 1);
}

TEST_F(RecorderTest, AnAllocationAtTheAddressOfALiveOneReplacesIt) {
  const uint64_t missed = coverage(Subject::cpu_memory).missed.load();
  t_fake_stack = {33, 0};
  cpu_allocated(fresh(), 100);
  cpu_allocated(fresh(), 30);
  EXPECT_EQ(coverage(Subject::cpu_memory).missed.load(), missed + 1);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(allocation(view, fresh())->nbytes, 30u);
  EXPECT_EQ(site(view, {33, 0}).bytes_live, 30u);
  EXPECT_EQ(site(view, {33, 0}).allocations_live, 1u);
  cpu_freed(fresh());
}

TEST_F(RecorderTest, ACpuReportIsAMappedStorageOnlyWhereNothingElseExplainsIt) {
  const Device cpu{0, -1};
  cpu_allocated(fresh(0), 100);
  memory_reported(fresh(0), 100, 0, 0, cpu);     // the same block again
  memory_reported(fresh(1), 100, 5000, 0, cpu);  // torch's own profiler is on: an ordinary block
  memory_reported(fresh(2), 4096, 0, 0, cpu);    // a mapped storage
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(AllocationKind(allocation(view, fresh(0))->kind), AllocationKind::heap);
  EXPECT_EQ(allocation(view, fresh(1)), nullptr);
  ASSERT_NE(allocation(view, fresh(2)), nullptr);
  EXPECT_EQ(AllocationKind(allocation(view, fresh(2))->kind), AllocationKind::mapped);
  EXPECT_EQ(allocation(view, fresh(2))->nbytes, 4096u);

  memory_reported(fresh(0), -100, 0, 0, cpu);  // free_cpu will tell the end of a heap block
  memory_reported(fresh(2), -4096, 0, 0, cpu);
  SnapshotView after;
  ASSERT_TRUE(after.take());
  EXPECT_NE(allocation(after, fresh(0)), nullptr);
  EXPECT_EQ(allocation(after, fresh(2)), nullptr);
  cpu_freed(fresh(0));
}

TEST_F(RecorderTest, DevicesAreKeptApart) {
  memory_reported(fresh(), 512, 512, 2048, {1, 0});
  memory_reported(fresh(), 1024, 1024, 4096, {1, 1});
  memory_reported(fresh(), -1024, 0, 1024, {1, 1});
  SnapshotView view;
  ASSERT_TRUE(view.take());
  const AllocationEntry* entry = allocation(view, fresh());
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->device.type, 1);
  EXPECT_EQ(entry->device.index, 0);
  EXPECT_EQ(AllocationKind(entry->kind), AllocationKind::caching);
  bool seen = false;
  for (const DeviceTotals& row : view.devices) {
    if (row.device.type != 1 || row.device.index != 1) continue;
    seen = true;
    EXPECT_EQ(row.live_bytes, 0u);
    EXPECT_EQ(row.peak_bytes, 1024u);
    EXPECT_EQ(row.total_count, 1u);
    EXPECT_EQ(row.allocator_allocated, 0u);
    EXPECT_EQ(row.allocator_reserved, 1024u);
    EXPECT_EQ(row.allocator_reserved_peak, 4096u);
  }
  EXPECT_TRUE(seen);
  memory_reported(fresh(), -512, 0, 2048, {1, 0});
}

TEST_F(RecorderTest, ThreadsHaveTheirKernelIdAndName) {
  uint32_t tid = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    tid = uint32_t(syscall(SYS_gettid));
    tensor_constructed(fresh());
  }).join();
  SnapshotView view;
  ASSERT_TRUE(view.take());
  const ThreadEntry& thread = view.threads[tensor(view, fresh())->thread];
  EXPECT_EQ(thread.tid, tid);
  EXPECT_STREQ(thread.name, "pt_autograd_0");
  tensor_destroyed(fresh());
}

std::vector<AllocationAboveMark> g_told;

TEST_F(RecorderTest, GrowthAboveTheMarkIsTold) {
  g_told.clear();
  set_growth_function([](const AllocationAboveMark& allocation) { g_told.push_back(allocation); });
  const uint64_t live = g_devices.row(DeviceTable::kCpu).bytes_live;
  const uint64_t mapped = g_devices.row(DeviceTable::kCpu).bytes_mapped;
  g_devices.look_above(DeviceTable::kCpu, live + 1000);
  cpu_allocated(fresh(0), 1000);
  EXPECT_TRUE(g_told.empty());
  cpu_allocated(fresh(1), 1);
  ASSERT_EQ(g_told.size(), 1u);
  EXPECT_EQ(g_told[0].nbytes, 1u);
  EXPECT_TRUE(g_told[0].may_wait);
  EXPECT_EQ(g_devices.row(DeviceTable::kCpu).bytes_mapped, mapped);
  memory_reported(fresh(2), 5, 0, 0, Device{});  // a mapped storage: a lock may be held
  ASSERT_EQ(g_told.size(), 2u);
  EXPECT_FALSE(g_told[1].may_wait);
  EXPECT_EQ(g_devices.row(DeviceTable::kCpu).bytes_mapped, mapped + 5);
  memory_reported(fresh(2), -5, 0, 0, Device{});
  EXPECT_EQ(g_devices.row(DeviceTable::kCpu).bytes_mapped, mapped);
  cpu_freed(fresh(0));
  cpu_freed(fresh(1));
  cpu_allocated(fresh(0), 1000);  // up to the mark again
  EXPECT_EQ(g_told.size(), 2u);
  cpu_freed(fresh(0));
  g_devices.look_above(DeviceTable::kCpu, UINT64_MAX);
  set_growth_function(nullptr);
}

}  // namespace
}  // namespace tensorscope::live
