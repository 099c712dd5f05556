#include "leaks/growth.h"

#include <gtest/gtest.h>

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
void made_larger(Scene& scene, int64_t floats, uint64_t peak) {
  const uint32_t site = scene.site(33);
  scene.add(scene.plain(serial_at(scene.steps(), 10), floats, site));
  const format::Site& now = scene.builder.site_counters(site);
  scene.builder.site_counters(site) =
      format::Site(now.tensors_live(), now.tensors_total(), now.allocations_live(), now.allocations_total(),
                   now.bytes_live(), now.bytes_total(), peak, 0, now.python());
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

TEST(Growth, BatchesThatHappenToBeLongerEachTimeAreNone) {
  Dumps run([](Scene& scene) { made_larger(scene, scene.steps() * 4096, 1 << 20); });
  EXPECT_TRUE(run.leaks.places.empty());
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

}  // namespace
}  // namespace tensorscope::analyzer
