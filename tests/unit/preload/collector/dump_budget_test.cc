// SPDX-License-Identifier: Apache-2.0
// Which parts of a dump fit into what is left, from numbers alone.
#include "collector/dump_budget.h"

#include <gtest/gtest.h>

#include "dump/tensor_facts.h"
#include "python/references.h"

namespace tensorscope::collector {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

SystemMemory left_in_group(uint64_t left) {
  SystemMemory memory;
  memory.cgroup = {1000 * kMiB, left};
  memory.machine = {64000 * kMiB, 32000 * kMiB};
  return memory;
}

DumpSize tensors(size_t count) {
  DumpSize size;
  size.copy = count * 90;
  size.tensors = size.allocations = size.nodes = count;
  size.names = size.report = true;
  return size;
}

DumpPlan plan(const DumpSize& size, uint64_t left) { return plan_dump(size, MemoryRoom::of(left_in_group(left))); }

TEST(DumpBudget, TheNearestLimitCounts) {
  SystemMemory memory = left_in_group(100 * kMiB);
  EXPECT_EQ(MemoryRoom::of(memory).limit, SystemLimit::cgroup);
  EXPECT_EQ(MemoryRoom::of(memory).left, 100 * kMiB);
  EXPECT_LT(MemoryRoom::of(memory).usable, MemoryRoom::of(memory).for_rows);
  EXPECT_LT(MemoryRoom::of(memory).for_rows, 100 * kMiB);
  memory.data = {500 * kMiB, 20 * kMiB};
  EXPECT_EQ(MemoryRoom::of(memory).limit, SystemLimit::data);
  memory.address_space = {500 * kMiB, 0};
  EXPECT_EQ(MemoryRoom::of(memory).limit, SystemLimit::address_space);
  EXPECT_EQ(MemoryRoom::of(memory).usable, 0u);
}

TEST(DumpBudget, WithoutALimitAllFits) {
  const MemoryRoom room = MemoryRoom::of(SystemMemory{});
  EXPECT_EQ(room.limit, SystemLimit::none);
  EXPECT_FALSE(room.is_tight());
  const DumpPlan all = plan_dump(tensors(100'000'000), room);
  EXPECT_TRUE(all.rows && all.sizes && all.graph);
  EXPECT_EQ(all.facts, 100'000'000u);
}

TEST(DumpBudget, TheLessIsLeftTheLessIsWritten) {
  const DumpSize size = tensors(100'000);
  int before = 4;
  for (uint64_t left = 200 * kMiB; left > 0; left -= kMiB) {
    const DumpPlan found = plan(size, left);
    const int parts = found.rows + found.sizes + found.graph + (found.facts == size.tensors);
    EXPECT_LE(parts, before) << left;
    EXPECT_TRUE(found.rows || parts == 0) << left;
    before = parts;
    // All parts together fit.
    const uint64_t needs = found.rows_need + (found.sizes ? size.tensors * sizeof(python::TensorSize) : 0) +
                           (found.graph ? graph_needs(size.nodes, size.tensors) : 0) +
                           found.facts * sizeof(dump::TensorFacts);
    EXPECT_TRUE(parts < 2 || needs <= MemoryRoom::of(left_in_group(left)).usable) << left;
  }
  EXPECT_EQ(before, 0);
  EXPECT_EQ(plan(size, 200 * kMiB).facts, size.tensors);
  EXPECT_TRUE(plan(size, 20 * kMiB).rows);
  EXPECT_FALSE(plan(size, 20 * kMiB).graph);
}

TEST(DumpBudget, WhatIsNotWantedIsNotCounted) {
  DumpSize size = tensors(100'000);
  size.nodes = 0;
  size.names = size.report = false;
  for (const uint64_t left : {20 * kMiB, 200 * kMiB}) {
    const DumpPlan found = plan(size, left);
    EXPECT_TRUE(found.rows && found.graph);
    EXPECT_FALSE(found.sizes || found.facts);
  }
  const DumpPlan none = plan(size, kMiB);
  EXPECT_FALSE(none.rows || none.graph);
}

// The report names the largest of them.
TEST(DumpBudget, TheReportLooksAtAsManyTensorsAsFit) {
  const DumpSize size = tensors(100'000);
  size_t before = size.tensors;
  bool some = false;
  for (uint64_t left = 200 * kMiB; left > 0; left -= kMiB / 4) {
    const size_t facts = plan(size, left).facts;
    EXPECT_TRUE(facts <= before || !plan(size, left).graph) << left;  // what the graph does not get is left for these
    EXPECT_TRUE(facts == 0 || facts >= 100) << left;
    some |= facts > 0 && facts < size.tensors;
    before = facts;
  }
  EXPECT_TRUE(some);
  EXPECT_EQ(most_in_report(100 * kMiB, 1000, 1000), 1000u);
  EXPECT_EQ(most_in_report(2 * kMiB, 100'000, 0), 2 * kMiB / 104);
  EXPECT_EQ(most_in_report(144'000, 1000, 1000), 1000u);
  EXPECT_EQ(most_in_report(1 * kMiB, 100'000, 100'000), 0u);  // the allocations alone take more
  EXPECT_EQ(most_in_report(1000, 5, 5), 5u);                  // few are all
}

// What is left of shared memory is no limit for the dump's memory.
TEST(DumpBudget, SharedMemoryIsNoRoomForADump) {
  SystemMemory memory = left_in_group(100 * kMiB);
  memory.shared_memory = {64 * kMiB, 0};
  EXPECT_EQ(MemoryRoom::of(memory).limit, SystemLimit::cgroup);
  EXPECT_STREQ(place_of(SystemLimit::shared_memory), "in /dev/shm");
}

// A file on a tmpfs is memory of the same group.
TEST(DumpBudget, AFileInMemoryCounts) {
  DumpSize size = tensors(100'000);
  EXPECT_TRUE(plan(size, 60 * kMiB).rows);
  size.file_in_memory = true;
  EXPECT_FALSE(plan(size, 60 * kMiB).rows);
}

TEST(DumpBudget, WhatIsLeftOutIsTold) {
  LeftOut left_out;
  EXPECT_STREQ(left_out.text(), "");
  left_out.add("the autograd graph", MemoryRoom::of(left_in_group(12 * kMiB)));
  EXPECT_STREQ(left_out.text(), "without the autograd graph: 12.0 MiB was left in the control group");
  left_out.add("names", MemoryRoom::of(left_in_group(3 * kMiB)));
  EXPECT_STREQ(left_out.text(), "without the autograd graph, names: 3.0 MiB was left in the control group");
  for (int i = 0; i < 100; ++i) left_out.add("names", MemoryRoom::of(left_in_group(3 * kMiB)));
  EXPECT_LT(std::string(left_out.text()).size(), 256u);
}

}  // namespace
}  // namespace tensorscope::collector
