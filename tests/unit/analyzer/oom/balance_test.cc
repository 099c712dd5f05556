// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/oom/{host_balance,allocated,balance_node}.cc
#include "oom/balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_scene.h"

namespace tensorscope::analyzer::oom {
namespace {

using testing::DeviceScene;
using testing::kMiB;
using testing::RuntimeBlockSpec;
using testing::sums_agree;
using testing::Told;

constexpr auto kM = int64_t(kMiB);

// 60 MiB of a tensor with 1 MiB of rounding, 3 MiB in no tensor, 20 MiB free and 2 MiB that wait.
DeviceScene scene() {
  DeviceScene scene;
  scene.segment();
  const uint64_t weight = scene.tensor(60 * kMiB, 0, kMiB);
  scene.held(weight, "model.weight", format::ReferenceRoot::global, format::ReferenceRole::parameter);
  scene.block(3 * kMiB);
  scene.piece(20 * kMiB);
  scene.piece(2 * kMiB, format::BlockState::pending_free);
  return scene;
}

TEST(DeviceBalance, EveryByteHasOneOwner) {
  DeviceScene device = scene();
  device.memory.own_bytes = 200 * kMiB;
  device.memory.processes = {{991, 700 * kMiB}, {992, 100 * kMiB}};
  RuntimeBlockSpec nccl;
  nccl.pointer = 0x7f0000000000;
  nccl.nbytes = 50 * kMiB;
  device.builder.runtime_block(nccl);
  nccl.by_torch = true;  // a segment
  nccl.pointer = 0x7e0000000000;
  device.builder.runtime_block(nccl);
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.bytes("device"), 1024 * kM);
  EXPECT_EQ(told.bytes("free"), 4 * kM);
  EXPECT_EQ(told.bytes("this process"), 200 * kM);
  EXPECT_EQ(told.bytes("reserved"), 86 * kM);
  EXPECT_EQ(told.bytes("allocated"), 64 * kM);
  EXPECT_EQ(told.bytes("tensors"), 60 * kM);
  EXPECT_EQ(told.bytes("parameter"), 60 * kM);
  EXPECT_EQ(told.bytes("in no tensor"), 3 * kM);
  EXPECT_EQ(told.bytes("rounding"), kM);
  EXPECT_EQ(told.bytes("waiting"), 2 * kM);
  EXPECT_EQ(told.bytes("cached"), 20 * kM);
  EXPECT_EQ(told.bytes("libraries"), 50 * kM);
  EXPECT_EQ(told.bytes("context"), 64 * kM);
  EXPECT_EQ(told.bytes("other processes"), 800 * kM);
  EXPECT_EQ(told.bytes("unexplained"), 20 * kM);  // the driver's own
}

TEST(DeviceBalance, NothingUnexplainedWhereNumbersClose) {
  DeviceScene device = scene();
  device.memory.own_bytes = 220 * kMiB;
  device.memory.processes = {{991, 800 * kMiB}};
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.analysis.balance.find(BalanceKind::unexplained), nullptr);
}

TEST(DeviceBalance, BlocksThatNobodySawAreUnexplained) {
  DeviceScene device = scene();
  device.not_seen = 7 * kMiB;
  device.memory.segments.back().allocated = device.allocated + 7 * kMiB;
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.bytes("allocated"), 71 * kM);
  ASSERT_NE(told.part("allocated").find(BalanceKind::unexplained), nullptr);
  EXPECT_EQ(told.part("allocated").find(BalanceKind::unexplained)->bytes, 7 * kM);
}

TEST(DeviceBalance, SegmentsOfAnotherMomentAreUnexplained) {
  DeviceScene device = scene();
  device.piece(5 * kMiB, format::BlockState::allocated);  // made after the tables were copied
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.bytes("reserved"), 91 * kM);
  EXPECT_EQ(told.bytes("allocated"), 64 * kM);
  EXPECT_EQ(told.part("unexplained").note.kind, NoteKind::made_while_copying);
  EXPECT_EQ(told.bytes("unexplained"), 5 * kM);
}

TEST(DeviceBalance, ProcessesThatTheDriverDoesNotTellApart) {
  DeviceScene device = scene();
  device.memory.driver_detail = "NVML was not found";
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.bytes("outside torch"), (1024 - 4 - 86) * kM);
  EXPECT_EQ(told.part("outside torch").note.text, "NVML was not found");
  EXPECT_EQ(told.analysis.balance.find(BalanceKind::other_processes), nullptr);
}

TEST(DeviceBalance, OwnBytesFollowFromTheOthers) {
  DeviceScene device = scene();
  device.memory.processes = {{991, 800 * kMiB}};
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.bytes("this process"), 220 * kM);
}

TEST(DeviceBalance, AnotherProcessOfUnknownSizeIsWhatIsLeft) {
  DeviceScene device = scene();
  device.memory.own_bytes = 220 * kMiB;
  device.memory.processes = {{991, UINT64_MAX}};
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.bytes("other processes"), 800 * kM);
  EXPECT_EQ(told.part("other processes").note.kind, NoteKind::pids_without_bytes);
}

TEST(DeviceBalance, WithoutTheDriversWordThereIsNoTotal) {
  DeviceScene device = scene();
  device.memory.driver_total = device.memory.driver_free = 0;
  const Told told(device);
  EXPECT_FALSE(told.analysis.balance.bytes);
  EXPECT_EQ(told.bytes("reserved"), 86 * kM);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
}

TEST(DeviceBalance, WithoutSegmentsTheAllocatorsReportHolds) {
  DeviceScene device = scene();
  device.memory.segments_from = format::SegmentSource::none;
  device.failure.allocator_reserved = 90 * kMiB;  // of the moment of failure, unlike the total of the tables
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.bytes("reserved"), 90 * kM);
  EXPECT_EQ(told.bytes("cached"), 26 * kM);
}

TEST(DeviceBalance, AnAllocatorThatTellsNothingOfItsCache) {
  DeviceScene device = scene();
  device.totals = false;
  device.memory.backend = "cudaMallocAsync";
  device.memory.segments_from = format::SegmentSource::runtime_calls;
  const Told told(device);
  EXPECT_EQ(told.bytes("reserved"), 64 * kM);
  EXPECT_FALSE(told.part("cached").bytes);
}

TEST(DeviceBalance, ANegativeGapIsShown) {
  DeviceScene device = scene();
  device.memory.own_bytes = 50 * kMiB;
  device.memory.processes = {{991, UINT64_MAX}};
  const Told told(device);
  EXPECT_TRUE(sums_agree(told.analysis.balance));
  EXPECT_EQ(told.part("this process").find(BalanceKind::unexplained)->bytes, -36 * kM);
}

// ---- the host ------------------------------------------------------------------------------------------------------

BalanceNode host(testing::DumpBuilder& builder) {
  testing::Asked asked(builder);
  return host_balance(asked.view());
}

testing::DumpBuilder on_the_host() {
  testing::DumpBuilder builder;
  const uint32_t site = builder.site(0, builder.python({{"train.py", "main", 3, true}}));
  testing::owned(builder, 1 << 20, site);
  builder.resident_bytes = 100 * kMiB;
  return builder;
}

TEST(HostBalance, WhatIsResident) {
  testing::DumpBuilder builder = on_the_host();
  builder.heap_in_use = 30 * kMiB;  // torch's block included
  builder.heap_free = 5 * kMiB;
  builder.profiler_bytes = 2 * kMiB;
  const BalanceNode part = host(builder);
  EXPECT_TRUE(sums_agree(part));
  EXPECT_EQ(part.kind, BalanceKind::resident_process);
  EXPECT_EQ(part.find(BalanceKind::torch)->bytes, 4 * kM);
  EXPECT_EQ(part.find(BalanceKind::malloc_in_use)->bytes, 26 * kM);
  EXPECT_EQ(part.find(BalanceKind::malloc_free)->bytes, 5 * kM);
  EXPECT_EQ(part.find(BalanceKind::rest)->bytes, 63 * kM);
}

TEST(HostBalance, MostIsOutsideTorch) {
  const auto outside = [](uint64_t heap) {
    testing::DumpBuilder builder = on_the_host();
    builder.heap_in_use = heap;
    const BalanceNode balance = host(builder);
    EXPECT_EQ(resident(balance), 100 * kMiB);
    return mostly_outside(balance) != nullptr;
  };
  EXPECT_TRUE(outside(55 * kMiB));  // 51 of 100 without torch's block
  EXPECT_FALSE(outside(53 * kMiB));
  BalanceNode whole = balance_node(BalanceKind::resident_process, 100 * kM);
  whole.parts = {balance_node(BalanceKind::malloc_in_use, 30 * kM), balance_node(BalanceKind::python_heap, 60 * kM)};
  ASSERT_NE(mostly_outside(whole), nullptr);
  EXPECT_EQ(mostly_outside(whole)->kind, BalanceKind::python_heap);
}

TEST(HostBalance, AGroupsLimit) {
  testing::DumpBuilder builder = on_the_host();
  builder.cgroup_limit = 1000 * kMiB;
  builder.cgroup_current = 900 * kMiB;
  builder.children = 2;
  builder.children_resident_bytes = 300 * kMiB;
  const BalanceNode part = host(builder);
  EXPECT_TRUE(sums_agree(part));
  EXPECT_EQ(part.kind, BalanceKind::cgroup);
  EXPECT_EQ(part.find(BalanceKind::left)->bytes, 100 * kM);
  EXPECT_EQ(part.find(BalanceKind::child_processes)->bytes, 300 * kM);
  EXPECT_EQ(part.find(BalanceKind::others)->bytes, 500 * kM);
}

TEST(HostBalance, ChildrenThatAreNotKnownMayBeAmongTheOthers) {
  testing::DumpBuilder builder = on_the_host();
  builder.cgroup_limit = 1000 * kMiB;
  builder.cgroup_current = 900 * kMiB;
  builder.children_known = false;
  const BalanceNode part = host(builder);
  EXPECT_TRUE(sums_agree(part));
  EXPECT_EQ(part.find(BalanceKind::child_processes), nullptr);
  EXPECT_EQ(part.find(BalanceKind::others)->note.text, "its own child processes among them: not known");
}

TEST(HostBalance, AddressSpaceIsMoreThanWhatIsResident) {
  testing::DumpBuilder builder = on_the_host();
  testing::FailureSpec failure;
  failure.kind = format::FailureKind::host;
  failure.limit = format::MemoryLimit::address_space;
  failure.device_type = 0;
  failure.limit_bytes = 4000 * kMiB;
  failure.left_bytes = 1000 * kMiB;
  builder.failure(failure);
  const BalanceNode part = host(builder);
  EXPECT_TRUE(sums_agree(part));
  EXPECT_EQ(part.find(BalanceKind::left)->bytes, 1000 * kM);
  EXPECT_EQ(part.find(BalanceKind::not_resident)->bytes, 2900 * kM);
}

// Of /dev/shm: by who holds its files, not by what torch's allocator has.
TEST(HostBalance, SharedMemoryIsOfThoseWhoHoldItsFiles) {
  testing::DumpBuilder builder = on_the_host();
  testing::FailureSpec failure;
  failure.kind = format::FailureKind::low_memory;
  failure.limit = format::MemoryLimit::shared_memory;
  failure.device_type = 0;
  failure.limit_bytes = 64 * kMiB;
  failure.left_bytes = 4 * kMiB;
  builder.failure(failure);
  testing::Asked asked(builder);
  const Dump& dump = asked.view().dump;
  const_cast<ProcessParts&>(dump.process_parts).shared_holders = {
      {uint32_t(dump.process.pid), "python", 3, 40 * kMiB, 40 * kMiB},
      {77, "python", 1, 15 * kMiB, 0},
      {0, "psm_1", 2, 5 * kMiB, 0}};
  const BalanceNode part = host_balance(asked.view());
  EXPECT_TRUE(sums_agree(part));
  EXPECT_EQ(part.kind, BalanceKind::shared_memory);
  EXPECT_EQ(part.bytes, 64 * kM);
  EXPECT_EQ(part.find(BalanceKind::left)->bytes, 4 * kM);
  EXPECT_EQ(part.find(BalanceKind::this_process)->bytes, 40 * kM);
  EXPECT_EQ(part.find(BalanceKind::process)->pid, 77u);
  EXPECT_EQ(part.find(BalanceKind::unheld_files)->bytes, 5 * kM);
  EXPECT_EQ(part.find(BalanceKind::torch), nullptr);
}

TEST(HostBalance, MemoryThatWasNeverWrittenToIsNotResident) {
  testing::DumpBuilder builder = on_the_host();
  builder.resident_bytes = 3 * kMiB;
  const BalanceNode part = host(builder);
  EXPECT_TRUE(sums_agree(part));
  EXPECT_EQ(part.find(BalanceKind::unexplained)->bytes, -kM);
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
