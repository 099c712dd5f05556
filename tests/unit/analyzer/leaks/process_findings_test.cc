// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;

constexpr uint64_t kMiB = 1 << 20;

// Resident memory, malloc's own numbers and tensors after so many steps, in mebibytes.
struct Numbers {
  uint64_t resident, heap, kept, tensors;
};

Dumps run_with(const std::vector<Numbers>& numbers, const analyzer::Filter& filter = {}) {
  std::vector<int> dumps;
  for (size_t i = 0; i < numbers.size(); ++i) dumps.push_back(int(i) + 1);
  return Dumps(
      [&](Scene& scene) {
        const Numbers& now = numbers[size_t(scene.steps()) - 1];
        scene.builder.resident_bytes = now.resident * kMiB;
        scene.builder.heap_in_use = now.heap * kMiB;
        scene.builder.heap_free = now.kept * kMiB;
        scene.builder.children = 2;
        scene.kept(testing::serial_at(scene.steps(), 1), int64_t(now.tensors * kMiB / 4), scene.site(1), "batch");
      },
      dumps, filter);
}

TEST(ProcessMemory, ThatGrowsOutsideTensors) {
  Dumps run = run_with({{500, 200, 5, 100}, {540, 240, 5, 100}, {580, 280, 5, 100}});
  ASSERT_THAT(run.kinds(), ElementsAre("process-memory"));
  EXPECT_EQ(run.only().growth.bytes, (std::vector<uint64_t>{100 * kMiB, 140 * kMiB, 180 * kMiB}));
  EXPECT_EQ(run.only().advice, Advice::process_part);
  EXPECT_EQ(run.only().process_part, FactKind::malloc_in_use);
}

TEST(ProcessMemory, OfOneDumpThePartsAreSaidTheLargestFirst) {
  Dumps run = run_with({{500, 200, 5, 100}});
  EXPECT_FALSE(run.leaks.process.told);
  EXPECT_FALSE(run.leaks.found());
  ASSERT_GE(run.leaks.process.parts.size(), 3u);
  EXPECT_EQ(run.leaks.process.parts[0].kind, FactKind::resident);
  EXPECT_EQ(run.leaks.process.parts[1].values, (std::vector<uint64_t>{100 * kMiB}));
  EXPECT_GE(run.leaks.process.parts[1].values[0], run.leaks.process.parts[2].values[0]);
}

TEST(ProcessMemory, TensorsExplainIt) {
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {540, 240, 5, 140}, {580, 280, 5, 180}}).kinds(), ElementsAre());
}

TEST(ProcessMemory, FewerTensorsAreNoGrowthOutside) {
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {500, 160, 45, 60}, {500, 120, 85, 20}}).kinds(), ElementsAre());
}

TEST(ProcessMemory, WhatMallocKeepsForLaterIsNone) {
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {540, 200, 45, 100}, {580, 200, 85, 100}}).kinds(), ElementsAre());
}

TEST(ProcessMemory, WhatMallocKeepsIsToldAllTheSame) {
  Dumps run = run_with({{308, 100, 5, 50}, {516, 106, 207, 50}});
  EXPECT_THAT(run.kinds(), ElementsAre());
  EXPECT_FALSE(run.leaks.found());
  ASSERT_TRUE(run.leaks.process.told);
  EXPECT_EQ(run.leaks.process.parts[0].values, (std::vector<uint64_t>{308 * kMiB, 516 * kMiB}));
  EXPECT_EQ(run.leaks.process.parts[1].kind, FactKind::malloc_free);
  EXPECT_EQ(run.leaks.process.parts[1].values, (std::vector<uint64_t>{5 * kMiB, 207 * kMiB}));
  EXPECT_EQ(run.leaks.process.grew_most, FactKind::malloc_free);
  EXPECT_FALSE(run_with({{500, 200, 5, 100}, {520, 200, 25, 100}}).leaks.process.told);
}

TEST(ProcessMemory, AWarmUpIsNone) {
  EXPECT_THAT(run_with({{300, 100, 5, 10}, {500, 110, 5, 100}, {502, 111, 5, 100}}).kinds(), ElementsAre());
  EXPECT_THAT(run_with({{300, 100, 5, 10}, {500, 110, 5, 20}}).kinds(), ElementsAre());
}

TEST(ProcessMemory, TwoDumpsWhereMallocHandsItOut) {
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {600, 300, 5, 100}}).kinds(), ElementsAre("process-memory"));
}

// Each thread has an arena of malloc's and thread-locals: where threads become more, so do these.
TEST(ProcessMemory, OfThreadsThatDoNotEnd) {
  const auto run_of = [](uint64_t each, bool threads) {
    return Dumps(
        [=](Scene& scene) {
          scene.builder.resident_bytes = 500 * kMiB;
          scene.builder.heap_in_use = 100 * kMiB + uint64_t(scene.steps()) * each;
          for (int i = 0; threads && i < scene.steps(); ++i) scene.builder.thread(uint32_t(100 + i), "worker", true);
        },
        {10, 20, 30});
  };
  Dumps run = run_of(200 << 10, true);
  ASSERT_THAT(run.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(run.only().holders, ElementsAre("threads that do not end"));
  EXPECT_EQ(run.only().advice, Advice::end_threads);
  EXPECT_THAT(run_of(200 << 10, false).only().holders, ElementsAre());
  EXPECT_THAT(run_of(3 << 20, true).only().holders, ElementsAre());
}

TEST(ProcessMemory, WithoutMallocsNumbersItIsNotKnownWhatWasAllocated) {
  for (const std::vector<Numbers>& numbers :
       {std::vector<Numbers>{{500, 200, 5, 100}, {580, 0, 0, 100}, {660, 0, 0, 100}},
        {{500, 0, 0, 100}, {600, 0, 0, 100}}}) {
    Dumps run = run_with(numbers);
    EXPECT_THAT(run.kinds(), ElementsAre());
    EXPECT_TRUE(run.leaks.process.told);
    for (const Fact& fact : run.leaks.process.parts) {
      EXPECT_NE(fact.kind, FactKind::malloc_in_use);
      EXPECT_NE(fact.kind, FactKind::malloc_free);
    }
  }
}

// A list of numpy arrays of 100 KiB, one a step: little, but about as much each time.
TEST(ProcessMemory, LittleThatGrowsEvenly) {
  ASSERT_THAT(run_with({{500, 200, 5, 100}, {502, 202, 5, 100}, {504, 204, 5, 100}}).kinds(),
              ElementsAre("process-memory"));
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {503, 203, 5, 100}, {504, 204, 5, 100}}).kinds(), ElementsAre());
  // Primitives that a library compiles for each size that it meets: nobody is known to have them.
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {505, 205, 5, 100}, {508, 208, 5, 100}}).kinds(), ElementsAre());
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {502, 202, 5, 100}}).kinds(), ElementsAre());
}

// malloc has so many KiB more in each interval, and a list of tensors grows or not.
Dumps with_heap(uint64_t first, uint64_t second, bool with_leak = false) {
  return Dumps(
      [=](Scene& scene) {
        scene.builder.resident_bytes = 500 * kMiB;
        const uint64_t more[] = {0, first, first + second};
        scene.builder.heap_in_use = 200 * kMiB + (more[scene.steps() - 1] << 10);
        if (!with_leak) return;
        constexpr int kFloats = 1 << 15;
        scene.builder.heap_in_use += uint64_t(scene.steps()) * kFloats * 4;
        for (int step = 1; step <= scene.steps(); ++step)
          scene.kept(testing::serial_at(step, 1), kFloats, scene.site(1), "seen[" + std::to_string(step) + "]");
      },
      {1, 2, 3});
}

TEST(ProcessMemory, TensorsThatGoAwayLeaveNothing) {
  Dumps fewer(
      [](Scene& scene) {
        scene.builder.resident_bytes = 500 * kMiB;
        scene.builder.heap_in_use = 200 * kMiB;
        for (int i = scene.steps() * 400; i < 1600; ++i) scene.add(scene.plain(uint64_t(10 + i), 0, scene.site(1)));
      },
      {1, 2, 3});
  EXPECT_FALSE(fewer.leaks.process.steady);
}

TEST(ProcessMemory, LessWhereNothingElseGrows) {
  EXPECT_THAT(with_heap(500, 400).kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(with_heap(600, 400).kinds(), ElementsAre());
  // What a leak that is found has outside of its tensors.
  EXPECT_THAT(with_heap(500, 500, /*with_leak=*/true).kinds(), ::testing::Not(::testing::Contains("process-memory")));
  Dumps little = with_heap(300, 300);
  EXPECT_FALSE(little.leaks.found());
  EXPECT_TRUE(little.leaks.process.steady);  // so that nobody says that nothing grew
  EXPECT_FALSE(with_heap(20, 20).leaks.process.steady);
}

// Resident memory grows, what was asked for does not: a buffer that is being filled, a file that is being read.
TEST(ProcessMemory, PagesThatAreTouchedForTheFirstTimeAreNone) {
  for (const bool file : {false, true}) {
    Dumps run(
        [&](Scene& scene) {
          const uint64_t touched = uint64_t(scene.steps()) * 60 * kMiB;
          scene.builder.heap_in_use = 300 * kMiB;
          scene.builder.resident_bytes = 200 * kMiB + touched;
          scene.builder.anonymous_bytes = 60 * kMiB + (file ? 0 : touched);
          scene.builder.file_bytes = 140 * kMiB + (file ? touched : 0);
        },
        {1, 2, 3});
    EXPECT_FALSE(run.leaks.found());
    ASSERT_TRUE(run.leaks.process.told);
    EXPECT_EQ(run.leaks.process.grew_most, file ? FactKind::mapped_files : FactKind::untouched);
  }
}

// An allocator of a library maps its own memory.
TEST(ProcessMemory, WhatNeitherMallocNorPythonAskedForGrowsToo) {
  Dumps run(
      [&](Scene& scene) {
        const uint64_t mapped = uint64_t(scene.steps()) * 60 * kMiB;
        scene.builder.heap_in_use = 100 * kMiB;
        scene.builder.resident_bytes = 200 * kMiB + mapped;
        scene.builder.anonymous_bytes = 100 * kMiB + mapped;
      },
      {1, 2, 3});
  ASSERT_THAT(run.kinds(), ElementsAre("process-memory"));
  EXPECT_EQ(run.only().process_part, FactKind::other_private);
  EXPECT_EQ(run.only().growth.bytes, (std::vector<uint64_t>{60 * kMiB, 120 * kMiB, 180 * kMiB}));
}

TEST(ProcessMemory, WhatTensorsBorrowIsTheirs) {
  const auto with_array = [](uint64_t borrowed) {
    return Dumps(
        [&](Scene& scene) {
          scene.builder.resident_bytes = uint64_t(200 + scene.steps() * 60) * kMiB;
          scene.builder.heap_in_use = uint64_t(100 + scene.steps() * 60) * kMiB;
          testing::TensorSpec array;
          array.serial = testing::serial_at(scene.steps(), 1);
          array.address = Scene::address(array.serial);
          array.sizes = {int64_t(borrowed) * scene.steps()};
          array.storage_base = 0x500000000000;
          if (borrowed > 0) scene.add(array);
        },
        {1, 2, 3});
  };
  EXPECT_THAT(with_array(0).kinds(), ElementsAre("process-memory"));
  Dumps run = with_array(15 * kMiB);  // floats
  EXPECT_EQ(std::ranges::count(run.kinds(), "process-memory"), 0);
}

TEST(ProcessMemory, GrowthThatSlowsDownIsNoFindingYet) {
  Dumps run = run_with({{500, 200, 5, 100}, {600, 300, 5, 100}, {630, 330, 5, 100}});
  EXPECT_THAT(run.kinds(), ElementsAre());
  EXPECT_FALSE(run.leaks.found());
  ASSERT_EQ(run.leaks.remarks.size(), 1u);
  EXPECT_EQ(run.leaks.remarks[0].what.kind, LeakKind::process_memory);
}

// `resident_mib`: as much is private, where it is empty.
Dumps with_children(const std::vector<uint64_t>& private_mib, const std::vector<uint32_t>& children,
                    const std::vector<uint64_t>& resident_mib = {}, uint64_t unit = kMiB) {
  std::vector<int> dumps;
  for (size_t i = 0; i < children.size(); ++i) dumps.push_back(int(i) + 1);
  return Dumps(
      [&](Scene& scene) {
        scene.builder.children_known = true;
        scene.builder.children = children[size_t(scene.steps()) - 1];
        const size_t dump = size_t(scene.steps()) - 1;
        scene.builder.children_private_bytes = private_mib[dump] * unit;
        scene.builder.children_resident_bytes = (resident_mib.empty() ? private_mib : resident_mib)[dump] * unit;
      },
      dumps);
}

TEST(ProcessMemory, ThatOfChildrenIsAFinding) {
  Dumps run = with_children({100, 140, 180}, {2, 2, 2});
  ASSERT_THAT(run.kinds(), ElementsAre("child-processes"));
  EXPECT_EQ(run.only().growth.bytes, (std::vector<uint64_t>{100 * kMiB, 140 * kMiB, 180 * kMiB}));
  EXPECT_THAT(with_children({100, 140}, {2, 2}).kinds(), ElementsAre());
  EXPECT_THAT(with_children({100, 170}, {2, 2}).kinds(), ElementsAre("child-processes"));
}

TEST(ProcessMemory, OfChildrenIsEnoughThatIsAboutTheSame) {
  constexpr uint64_t kKiB = 1 << 10;
  EXPECT_THAT(with_children({9000, 9400, 9850}, {1, 1, 1}, {}, kKiB).kinds(), ElementsAre("child-processes"));
  EXPECT_THAT(with_children({9000, 9300, 9600}, {1, 1, 1}, {}, kKiB).kinds(), ElementsAre());
  EXPECT_THAT(with_children({9000, 9400, 10000}, {1, 1, 1}, {}, kKiB).kinds(), ElementsAre());
}

// Pages of its parent that a forked child writes to become private and were resident; those of a mapped file that it
// reads become resident and are not private.
TEST(ProcessMemory, CopiedPagesOfChildrenAreNoGrowth) {
  EXPECT_THAT(with_children({100, 170}, {2, 2}, {400, 405}).kinds(), ElementsAre());
  EXPECT_THAT(with_children({100, 140, 180}, {2, 2, 2}, {400, 400, 400}).kinds(), ElementsAre());
  EXPECT_THAT(with_children({100, 100, 100}, {2, 2, 2}, {400, 440, 480}).kinds(), ElementsAre());
  Dumps run = with_children({13, 56, 61}, {1, 1, 1}, {180, 185, 190});
  ASSERT_THAT(run.kinds(), ElementsAre("child-processes"));
  EXPECT_EQ(run.only().growth.added_bytes(), int64_t(10 * kMiB));
}

TEST(ProcessMemory, OfChildrenThatBeganInBetweenNothingIsKnown) {
  EXPECT_THAT(with_children({100, 140, 180}, {2, 3, 4}).kinds(), ElementsAre());
  EXPECT_THAT(with_children({0, 140, 280}, {2, 2, 2}).kinds(), ElementsAre());
}

TEST(ProcessMemory, AFilterAsksForTensors) {
  analyzer::Filter filter;
  filter.dtypes = {"float32"};
  EXPECT_THAT(run_with({{500, 200, 5, 100}, {540, 240, 5, 100}, {580, 280, 5, 100}}, filter).kinds(), ElementsAre());
}

}  // namespace
}  // namespace tensorscope::analyzer
