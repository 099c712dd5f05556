// SPDX-License-Identifier: Apache-2.0
// When a limit is near, from numbers alone.
#include "collector/memory_watch.h"

#include <gtest/gtest.h>

namespace tensorscope::collector {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr ShareOrSize kShare = {.hundredths = 500};  // 5 %

SystemMemory of_address_space(uint64_t limit, uint64_t left) {
  SystemMemory memory;
  memory.address_space = {limit, left};
  return memory;
}
SystemMemory of_cgroup(uint64_t limit, uint64_t left, uint64_t touched) {
  SystemMemory memory;
  memory.cgroup = {limit, left};
  memory.touched = touched;
  return memory;
}

SystemMemory of_shared_memory(uint64_t limit, uint64_t left, uint64_t mapped) {
  SystemMemory memory;
  memory.shared_memory = {limit, left};
  memory.shared_mapped = mapped;
  return memory;
}

// Torch's allocations do not use it up; who holds less than the share explains nothing.
TEST(MemoryWatch, SharedMemoryIsToldToWhoHoldsIt) {
  MemoryWatch watch;
  EXPECT_EQ(watch.look(of_shared_memory(1000 * kMiB, 49 * kMiB, 0), 900 * kMiB, 100 * kMiB, kShare).low,
            SystemLimit::none);
  EXPECT_EQ(watch.look(of_shared_memory(1000 * kMiB, 51 * kMiB, 900 * kMiB), 900 * kMiB, 0, kShare).low,
            SystemLimit::none);
  const MemoryWatch::Verdict verdict = watch.look(of_shared_memory(1000 * kMiB, 49 * kMiB, 50 * kMiB), 0, 0, kShare);
  EXPECT_EQ(verdict.low, SystemLimit::shared_memory);
  EXPECT_EQ(verdict.limit, 1000 * kMiB);
  EXPECT_EQ(verdict.left, 49 * kMiB);
  EXPECT_EQ(verdict.look_after, UINT64_MAX);
  EXPECT_EQ(verdict.look_within_ms, MemoryWatch::kFarMs);
  EXPECT_EQ(watch.look(of_shared_memory(1000 * kMiB, 1 * kMiB, 900 * kMiB), 0, 0, kShare).low, SystemLimit::none);
  EXPECT_EQ(watch.look(of_shared_memory(1000 * kMiB, 150 * kMiB, 900 * kMiB), 0, 0, kShare).look_within_ms,
            MemoryWatch::kCloserMs);
  EXPECT_EQ(watch.look(of_shared_memory(1000 * kMiB, 49 * kMiB, 50 * kMiB), 0, 0, kShare).low,
            SystemLimit::shared_memory);
}

TEST(MemoryWatch, TellsOnceWhatFallsUnderTheShare) {
  MemoryWatch watch;
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 50 * kMiB), 0, 0, kShare).low, SystemLimit::none);
  const MemoryWatch::Verdict verdict = watch.look(of_address_space(1000 * kMiB, 49 * kMiB), 0, 0, kShare);
  EXPECT_EQ(verdict.low, SystemLimit::address_space);
  EXPECT_EQ(verdict.limit, 1000 * kMiB);
  EXPECT_EQ(verdict.left, 49 * kMiB);
  for (uint64_t left : {49, 1, 0, 49, 60, 49, 100, 3}) {
    EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, left * kMiB), 0, 0, kShare).low, SystemLimit::none) << left;
  }
}

TEST(MemoryWatch, TellsAgainAfterTwiceTheShareWasLeft) {
  MemoryWatch watch;
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 10 * kMiB), 0, 0, kShare).low, SystemLimit::address_space);
  watch.look(of_address_space(1000 * kMiB, 103 * kMiB), 0, 0, kShare);
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 10 * kMiB), 0, 0, kShare).low, SystemLimit::address_space);
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 10 * kMiB), 0, 0, kShare).low, SystemLimit::none);
}

TEST(MemoryWatch, ASizeIsTheSameForEveryLimitButAtMostHalfOfIt) {
  constexpr ShareOrSize kSize = {.bytes = 100 * kMiB};
  MemoryWatch watch;
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 100 * kMiB), 0, 0, kSize).low, SystemLimit::none);
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 99 * kMiB), 0, 0, kSize).low, SystemLimit::address_space);
  MemoryWatch small;
  EXPECT_EQ(small.look(of_address_space(80 * kMiB, 40 * kMiB), 0, 0, kSize).low, SystemLimit::none);
  EXPECT_EQ(small.look(of_address_space(80 * kMiB, 39 * kMiB), 0, 0, kSize).low, SystemLimit::address_space);
}

// A process has touched more than torch's memory: what it is just about to touch counts all the same.
TEST(MemoryWatch, ARequestThatIsBeingAnsweredIsNotTouchedYet) {
  MemoryWatch watch;
  const SystemMemory memory = of_cgroup(1000 * kMiB, 120 * kMiB, 800 * kMiB);
  EXPECT_EQ(watch.look(memory, 700 * kMiB, 0, kShare).low, SystemLimit::none);
  EXPECT_EQ(watch.look(memory, 700 * kMiB, 60 * kMiB, kShare).low, SystemLimit::none);
  const MemoryWatch::Verdict verdict = watch.look(memory, 700 * kMiB, 100 * kMiB, kShare);
  EXPECT_EQ(verdict.low, SystemLimit::cgroup);
  EXPECT_EQ(verdict.left, 20 * kMiB);
  EXPECT_EQ(MemoryWatch().look(memory, 700 * kMiB, 5000 * kMiB, kShare).left, 0u);
}

TEST(MemoryWatch, WhatIsNotTouchedYetIsUsedOfTheGroup) {
  MemoryWatch watch;
  EXPECT_EQ(watch.look(of_cgroup(1000 * kMiB, 500 * kMiB, 300 * kMiB), 300 * kMiB, 0, kShare).low, SystemLimit::none);
  EXPECT_EQ(watch.look(of_cgroup(1000 * kMiB, 500 * kMiB, 300 * kMiB), 750 * kMiB, 0, kShare).low, SystemLimit::none);
  const SystemMemory memory = of_cgroup(1000 * kMiB, 500 * kMiB, 300 * kMiB);
  const MemoryWatch::Verdict verdict = watch.look(memory, 751 * kMiB, 0, kShare);
  EXPECT_EQ(verdict.low, SystemLimit::cgroup);
  EXPECT_EQ(verdict.left, 49 * kMiB);
}

TEST(MemoryWatch, AddressSpaceIsTakenByTheAllocationItself) {
  MemoryWatch watch;
  SystemMemory memory = of_address_space(1000 * kMiB, 500 * kMiB);
  memory.touched = kMiB;
  EXPECT_EQ(watch.look(memory, 900 * kMiB, 0, kShare).low, SystemLimit::none);
}

TEST(MemoryWatch, AProcessThatHasLittleOfAFullGroupIsNotTold) {
  MemoryWatch watch;
  EXPECT_EQ(watch.look(of_cgroup(1000 * kMiB, 10 * kMiB, 49 * kMiB), 0, 0, kShare).low, SystemLimit::none);
  EXPECT_EQ(watch.look(of_cgroup(1000 * kMiB, 10 * kMiB, 50 * kMiB), 0, 0, kShare).low, SystemLimit::cgroup);
}

// The parent was told of what both have. What the child takes itself is told.
TEST(MemoryWatch, WhatAForkedChildHasFromItsParentIsNotTold) {
  MemoryWatch watch;
  watch.begin_in_child();
  EXPECT_EQ(watch.look(of_cgroup(1000 * kMiB, 40 * kMiB, 600 * kMiB), 0, 0, kShare).low, SystemLimit::none);
  EXPECT_EQ(watch.look(of_cgroup(1000 * kMiB, 20 * kMiB, 649 * kMiB), 0, 0, kShare).low, SystemLimit::none);
  EXPECT_EQ(watch.look(of_cgroup(1000 * kMiB, 10 * kMiB, 650 * kMiB), 0, 0, kShare).low, SystemLimit::cgroup);
  MemoryWatch asks;
  asks.begin_in_child();
  EXPECT_EQ(asks.look(of_cgroup(1000 * kMiB, 40 * kMiB, 600 * kMiB), 600 * kMiB, 50 * kMiB, kShare).low,
            SystemLimit::cgroup);
}

TEST(MemoryWatch, LimitsAreToldApart) {
  MemoryWatch watch;
  SystemMemory memory = of_cgroup(1000 * kMiB, 20 * kMiB, 500 * kMiB);
  memory.machine = {4000 * kMiB, 2000 * kMiB};
  memory.address_space = {2000 * kMiB, 900 * kMiB};
  EXPECT_EQ(watch.look(memory, 0, 0, kShare).low, SystemLimit::cgroup);
  memory.machine.left = 100 * kMiB;
  EXPECT_EQ(watch.look(memory, 0, 0, kShare).low, SystemLimit::machine);
  memory.address_space.left = 90 * kMiB;
  EXPECT_EQ(watch.look(memory, 0, 0, kShare).low, SystemLimit::address_space);
  memory.data = {2000 * kMiB, 90 * kMiB};
  EXPECT_EQ(watch.look(memory, 0, 0, kShare).low, SystemLimit::data);
  EXPECT_EQ(watch.look(memory, 0, 0, kShare).low, SystemLimit::none);
}

TEST(MemoryWatch, OfTwoThatBecomeLowTheOneWithLessLeftIsTold) {
  MemoryWatch watch;
  SystemMemory memory = of_cgroup(1000 * kMiB, 40 * kMiB, 500 * kMiB);
  memory.address_space = {2000 * kMiB, 30 * kMiB};
  EXPECT_EQ(watch.look(memory, 0, 0, kShare).low, SystemLimit::address_space);
  EXPECT_EQ(watch.look(memory, 0, 0, kShare).low, SystemLimit::none);
}

TEST(MemoryWatch, LooksAfterAnEighthOfWhatIsLeftOrAtTheShare) {
  MemoryWatch watch;
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 800 * kMiB), 0, 0, kShare).look_after, 100 * kMiB);
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 53 * kMiB), 0, 0, kShare).look_after, 3 * kMiB);
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 50 * kMiB), 0, 0, kShare).look_after, MemoryWatch::kMinStep);
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 40 * kMiB), 0, 0, kShare).look_after, 5 * kMiB);
  EXPECT_EQ(watch.look(of_address_space(1000 * kMiB, 0), 0, 0, kShare).look_after, MemoryWatch::kMinStep);
  SystemMemory two = of_cgroup(1000 * kMiB, 400 * kMiB, 0);
  two.machine = {8000 * kMiB, 3000 * kMiB};
  EXPECT_EQ(watch.look(two, 0, 0, kShare).look_after, 50 * kMiB);
}

TEST(MemoryWatch, LooksOftenWhereALimitIsNearAndSeldomElsewhere) {
  MemoryWatch watch;
  const auto within = [&](uint64_t left) {
    return watch.look(of_address_space(1000 * kMiB, left * kMiB), 0, 0, kShare).look_within_ms;
  };
  EXPECT_EQ(within(800), MemoryWatch::kFarMs);
  EXPECT_EQ(within(200), MemoryWatch::kFarMs);
  EXPECT_EQ(within(198), MemoryWatch::kCloserMs);
  EXPECT_EQ(within(98), MemoryWatch::kNearMs);
  EXPECT_EQ(within(40), MemoryWatch::kFarMs);  // told
}

TEST(MemoryWatch, WithoutLimitsNothingIsLookedAt) {
  MemoryWatch watch;
  const MemoryWatch::Verdict verdict = watch.look({}, 1000 * kMiB, 0, kShare);
  EXPECT_EQ(verdict.low, SystemLimit::none);
  EXPECT_EQ(verdict.look_after, UINT64_MAX);
  EXPECT_EQ(verdict.look_within_ms, 0u);
}

}  // namespace
}  // namespace tensorscope::collector
