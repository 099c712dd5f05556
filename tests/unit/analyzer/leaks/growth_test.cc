// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/leaks/{larger_inputs,larger_tensors}.cc
#include "leaks/growth.h"

#include <gtest/gtest.h>

#include <functional>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Dumps;
using testing::Scene;
using testing::serial_at;

// Nothing that is tested here is named: who holds it does not matter.
void one_a_step(Scene& scene, int from, int to, int64_t floats = 4096) {
  const uint32_t site = scene.site(57);
  for (int step = from; step <= to; ++step) scene.add(scene.plain(serial_at(step, 10), floats, site));
}

TEST(Growth, WhatEveryStepLeavesBehindPilesUp) {
  Dumps run([](Scene& scene) { one_a_step(scene, 1, scene.steps()); });
  ASSERT_EQ(run.leaks.places.size(), 1u);
  const GrownPlace& grown = run.leaks.places[0];
  EXPECT_EQ(grown.place.label, "train.py:57 step");
  EXPECT_EQ(grown.place.growth.count, (std::vector<uint64_t>{10, 20, 30}));
  EXPECT_EQ(grown.place.growth.bytes, (std::vector<uint64_t>{163840, 327680, 491520}));
  EXPECT_TRUE(grown.counts);
  EXPECT_TRUE(run.leaks.found());
}

TEST(Growth, TwoDumpsShowItToo) {
  Dumps run([](Scene& scene) { one_a_step(scene, 1, scene.steps()); }, {10, 20});
  EXPECT_EQ(run.leaks.places.size(), 1u);
  EXPECT_TRUE(run.leaks.weak);
}

TEST(Growth, AWarmUpIsNone) {
  auto warm_up = [](Scene& scene) { one_a_step(scene, 1, std::min(scene.steps(), 11)); };
  EXPECT_TRUE(Dumps(warm_up).leaks.places.empty());
  EXPECT_TRUE(Dumps(warm_up, {10, 20}).leaks.places.empty());
}

TEST(Growth, ACacheThatFillsOnceIsNone) {
  auto fills_up = [](Scene& scene) { one_a_step(scene, 1, std::min(scene.steps(), 18)); };
  EXPECT_FALSE(Dumps(fills_up).leaks.found());
  EXPECT_FALSE(Dumps(fills_up, {10, 25}).leaks.found());
}

TEST(Growth, LongerBatchesOfTheStepThatRunsAreNone) {
  auto batches = [](Scene& scene) { one_a_step(scene, scene.steps() - scene.steps() / 10, scene.steps(), 90000); };
  Dumps run(batches);
  EXPECT_FALSE(run.leaks.found());
}

TEST(Growth, AQueueThatIsAlwaysFullIsNone) {
  Dumps run([](Scene& scene) { one_a_step(scene, scene.steps() - 4, scene.steps()); });
  EXPECT_FALSE(run.leaks.found());
}

TEST(Growth, ALittleIsListedAndNotCalledALeak) {
  Dumps run([](Scene& scene) { one_a_step(scene, 1, scene.steps(), 1); });
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_FALSE(run.leaks.places[0].counts);
  EXPECT_FALSE(run.leaks.found());
}

TEST(Growth, BlocksThatNoTensorRefersToCount) {
  Dumps run([](Scene& scene) {
    const uint32_t site = scene.site(9);
    for (int step = 1; step <= scene.steps(); ++step) {
      testing::AllocationSpec block;
      block.serial = serial_at(step, 1);
      block.pointer = 0x100000000000 + block.serial * 0x10000;
      block.nbytes = 8192;
      block.site = site;
      scene.builder.allocation(block);
    }
  });
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_EQ(run.leaks.places[0].place.growth.count, (std::vector<uint64_t>{10, 20, 30}));
}

// all = torch.cat([all, x]): one tensor, larger each step.
uint32_t made_larger(Scene& scene, int64_t floats, uint64_t peak) {
  const uint32_t site = scene.site(33);
  scene.add(scene.plain(serial_at(scene.steps(), 10), floats, site));
  const format::Site& now = scene.builder.site_counters(site);
  scene.builder.site_counters(site) =
      format::Site(now.tensors_live(), now.tensors_total(), now.allocations_live(), now.allocations_total(),
                   now.bytes_live(), now.bytes_total(), peak, 0, now.python());
  return site;
}

TEST(Growth, OneTensorThatIsMadeLargerEachTime) {
  auto grows = [](Scene& scene) {
    const int64_t floats = scene.steps() * 4096;
    made_larger(scene, floats, uint64_t(floats) * 8);
  };
  Dumps run(grows, {10, 20, 30, 40});
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_TRUE(run.leaks.places[0].in_place);
  EXPECT_TRUE(run.leaks.found());
  EXPECT_FALSE(Dumps(grows, {10, 20}).leaks.found());
}

// Layers of a cache, each of whose tensors is replaced by a larger one: whoever is known to hold them is a finding.
TEST(Growth, WhatReplacesTheFormerIsAFindingWhereItsHolderIsKnown) {
  Dumps run(
      [](Scene& scene) {
        const int64_t floats = scene.steps() * 4096;
        const uint32_t site = made_larger(scene, floats, uint64_t(floats) * 8);
        EXPECT_NE(site, 0u);
        scene.held(serial_at(scene.steps(), 11), "stream.cache");
        scene.object(serial_at(scene.steps(), 11));
      },
      {10, 20, 30, 40});
  ASSERT_EQ(run.leaks.findings.size(), 1u);
  EXPECT_EQ(run.only().kind, LeakKind::larger_tensor);
  EXPECT_EQ(run.only().holders.at(0), "train.py: stream.cache");
  EXPECT_EQ(run.only().growth.added_bytes(), 30 * 16384);
  EXPECT_EQ(run.only().advice, Advice::bound_earlier_data);
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_EQ(run.leaks.places[0].finding, 0u);
}

// Keys and values of one cache are replaced together.
TEST(Growth, WhatOneObjectReplacesTogetherIsOneFinding) {
  const auto run = [](const std::string& other) {
    return Dumps(
        [other](Scene& scene) {
          const int64_t floats = scene.steps() * 4096;
          int number = 10;
          for (const std::string& name : {std::string("stream.keys"), other}) {
            const uint32_t site = scene.site(30 + number);
            const uint64_t made = scene.add(scene.plain(serial_at(scene.steps(), number), floats, site));
            scene.held(made, name);
            scene.object(made);
            const format::Site& now = scene.builder.site_counters(site);
            scene.builder.site_counters(site) =
                format::Site(now.tensors_live(), now.tensors_total(), now.allocations_live(), now.allocations_total(),
                             now.bytes_live(), now.bytes_total(), uint64_t(floats) * 8, 0, now.python());
            number += 10;
          }
        },
        {10, 20, 30, 40});
  };
  Dumps one = run("stream.values");
  ASSERT_EQ(one.leaks.findings.size(), 1u);
  EXPECT_EQ(one.only().holders, (std::vector<std::string>{"train.py: stream.keys", "train.py: stream.values"}));
  EXPECT_EQ(one.only().growth.added_bytes(), 2 * 30 * 16384);
  EXPECT_EQ(one.only().memory.size(), 2u);
  EXPECT_EQ(run("other.values").leaks.findings.size(), 2u);
}

// A wider model for each trial: it is made when that of the trial before is gone. What is computed with it is larger,
// too.
TEST(Growth, LargerOnesThatAreMadeWhenTheFormerIsGoneAreNone) {
  Dumps trials(
      [](Scene& scene) {
        const int64_t floats = scene.steps() * 4096;
        made_larger(scene, floats, uint64_t(floats) * 4);
      },
      {10, 20, 30, 40});
  ASSERT_EQ(trials.leaks.places.size(), 1u);
  EXPECT_TRUE(trials.leaks.places[0].in_place && trials.leaks.places[0].larger_input);
  EXPECT_FALSE(trials.leaks.found());
}

TEST(Growth, BatchesThatHappenToBeLongerEachTimeAreNone) {
  Dumps run([](Scene& scene) { made_larger(scene, scene.steps() * 4096, 1 << 20); });
  EXPECT_TRUE(run.leaks.places.empty());
}

// One tensor, replaced in each step by one of this size.
void replaced(Scene& scene, const std::function<int64_t(int)>& floats) {
  const uint32_t site = made_larger(scene, floats(scene.steps()), uint64_t(floats(scene.steps())) * 8);
  uint64_t bytes = 0;
  for (int step = 1; step <= scene.steps(); ++step) bytes += uint64_t(floats(step)) * 4;
  format::Site& row = scene.builder.site_counters(site);
  row = format::Site(row.tensors_live(), uint64_t(scene.steps()), row.allocations_live(), uint64_t(scene.steps()),
                     row.bytes_live(), bytes, row.bytes_peak(), 0, row.python());
}

TEST(Growth, LengthsThatAreRaisedEveryTenthStepAreNone) {
  const auto each_step = [](Scene& scene) { replaced(scene, [](int step) { return step * 4096; }); };
  const auto in_stairs = [](Scene& scene) { replaced(scene, [](int step) { return (step + 9) / 10 * 40960; }); };
  for (const std::vector<int>& dumps : {std::vector<int>{20, 40, 60}, {40, 60}}) {
    EXPECT_TRUE(Dumps(each_step, dumps).leaks.found());
    EXPECT_FALSE(Dumps(in_stairs, dumps).leaks.found());
  }
}

// One tensor of this line, larger in each step; its input, made by torch's data loading, likewise.
void larger_with_input(Scene& scene, int input, int joined) {
  const std::string torch = "/opt/venv/lib/python3.11/site-packages/torch/";
  testing::SharedObjectSpec library;
  library.path = torch + "lib/libtorch_python.so";
  scene.builder.shared_object(library);
  const int64_t floats = scene.steps() * 4096;
  const uint32_t collate =
      scene.builder.site(0, scene.builder.python({{"/home/user/train.py", "step", 31},
                                                  {torch + "utils/data/_utils/collate.py", "default_collate", 5}}));
  for (const auto& [number, site] : {std::pair(input, collate), std::pair(joined, scene.site(33))}) {
    scene.add(scene.plain(serial_at(scene.steps(), number), floats, site));
    const format::Site& now = scene.builder.site_counters(site);
    scene.builder.site_counters(site) =
        format::Site(now.tensors_live(), now.tensors_total(), now.allocations_live(), now.allocations_total(),
                     now.bytes_live(), now.bytes_total(), uint64_t(floats) * 8, 0, now.python());
  }
}

TEST(Growth, LargerInputsAndWhatIsMadeOfThemAreNone) {
  Dumps curriculum([](Scene& scene) { larger_with_input(scene, 10, 20); }, {10, 20, 30, 40});
  ASSERT_EQ(curriculum.leaks.places.size(), 2u);
  for (const GrownPlace& grown : curriculum.leaks.places) EXPECT_TRUE(grown.in_place && grown.larger_input);
  EXPECT_FALSE(curriculum.leaks.found());
  // What is larger before the input of the step is made is no result of it.
  Dumps joined([](Scene& scene) { larger_with_input(scene, 20, 10); }, {10, 20, 30, 40});
  EXPECT_TRUE(joined.leaks.found());
}

// A queue that everything passes is at times a little longer.
TEST(Growth, WhatComesAndGoesIsNone) {
  const auto queue = [](int at_first, int at_last) {
    return [=](Scene& scene) {
      const int length = at_first + (at_last - at_first) * (scene.steps() - 20) / 40;
      for (int step = scene.steps() - length + 1; step <= scene.steps(); ++step) {
        scene.kept(serial_at(step, 10), 4096, scene.site(12), "queue[" + std::to_string(step) + "]");
      }
    };
  };
  const std::vector<int> dumps = {20, 40, 60};
  EXPECT_FALSE(Dumps(queue(17, 22), dumps).leaks.found());
  EXPECT_TRUE(Dumps(queue(17, 30), dumps).leaks.found());
}

TEST(Growth, OneDumpShowsNone) {
  Dumps run([](Scene& scene) { one_a_step(scene, 1, scene.steps()); }, {30});
  EXPECT_TRUE(run.leaks.places.empty());
  EXPECT_FALSE(run.leaks.found());
}

TEST(Growth, OnlyWhatAFilterPasses) {
  analyzer::Filter filter;
  filter.functions = {"other"};
  Dumps run([](Scene& scene) { one_a_step(scene, 1, scene.steps()); }, {10, 20, 30}, filter);
  EXPECT_FALSE(run.leaks.found());
}

// Capacity that doubles: 1, 2 and 2 of what step 5 and 15 have made.
TEST(Growth, ATensorThatIsSeldomReplacedByALargerOneIsARemark) {
  const auto bank = [](bool again) {
    return Dumps([again](Scene& scene) {
      const int made = scene.steps() < 15 ? 5 : scene.steps() >= 25 && again ? 25 : 15;
      scene.kept(serial_at(made, 10), made * 4096, scene.site(3), "bank.rows");
    });
  };
  Dumps run = bank(false);
  EXPECT_FALSE(run.leaks.found());
  ASSERT_EQ(run.leaks.remarks.size(), 1u);
  EXPECT_EQ(run.leaks.remarks[0].reason, Remark::Reason::seldom_larger);
  EXPECT_EQ(run.leaks.remarks[0].what.holders.at(0), "train.py: bank.rows");
  EXPECT_TRUE(bank(true).leaks.remarks.empty());  // in every interval, as a batch of another length
}

TEST(Growth, SharesAddUpAndWhatIsUnclearIsSaid) {
  const auto with_two = [](bool leaks) {
    return Dumps(
        [leaks](Scene& scene) {
          if (leaks) {
            for (int step = 1; step <= scene.steps(); ++step)
              scene.kept(serial_at(step, 10), 4096, scene.site(57), "kept[" + std::to_string(step) + "]");
          }
          // A cache that is filled in one go.
          if (scene.steps() > 15) scene.kept(serial_at(15, 20), 1 << 20, scene.site(58), "cache");
        },
        {10, 20});
  };
  Dumps found = with_two(true);
  EXPECT_TRUE(found.leaks.found());
  EXPECT_EQ(found.leaks.growth.all, (4 << 20) + 10 * 16384);
  EXPECT_EQ(found.leaks.growth.findings, 10 * 16384);
  EXPECT_EQ(found.leaks.growth.rest(), 4 << 20);
  EXPECT_TRUE(found.leaks.unclear.empty());
  Dumps unclear = with_two(false);
  EXPECT_FALSE(unclear.leaks.found());
  ASSERT_EQ(unclear.leaks.unclear.size(), 1u);
  EXPECT_EQ(unclear.leaks.unclear[0].place.growth.added_bytes(), 4 << 20);
  ASSERT_EQ(unclear.leaks.unclear[0].held.size(), 1u);
  EXPECT_EQ(unclear.leaks.unclear[0].held[0].holder, "train.py: cache");
}

}  // namespace
}  // namespace tensorscope::analyzer
