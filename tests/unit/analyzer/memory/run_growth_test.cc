// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/memory/run_growth.cc
#include "memory/run_growth.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/sample_values.h"

namespace tensorscope::analyzer {
namespace {

using testing::kMiB;

// As many ends of steps, each with so many live bytes, and then the dump, at which all is freed.
History steps(uint64_t count, const std::function<uint64_t(uint64_t step)>& live, MomentKind kind = MomentKind::step) {
  History history;
  history.devices = {kHost};
  const uint8_t source = kind == MomentKind::step ? 1 : 0;
  for (uint64_t step = 1; step <= count; ++step) {
    history.points.push_back({step * 1'000'000'000, source != 0 ? step : 0, 0, 1, kind, source});
    history.levels.push_back({live(step), live(step), 0});
  }
  history.points.push_back({(count + 1) * 1'000'000'000, source != 0 ? count : 0, 0, 1, MomentKind::dump, source});
  history.levels.push_back({0, 0, 0});
  return history;
}

RunGrowth growth_of(uint64_t count, const std::function<uint64_t(uint64_t step)>& live) {
  return run_growth(steps(count, live), 0);
}

TEST(RunGrowth, IsSoManyBytesAStep) {
  const RunGrowth growth = growth_of(100, [](uint64_t step) { return 10 * kMiB + step * 4096; });
  EXPECT_EQ(growth.kind, GrowthKind::grew);
  EXPECT_TRUE(growth.by_step);
  EXPECT_EQ(growth.bytes_each, 4096);
  EXPECT_EQ(growth.first_step, 11u);
  EXPECT_EQ(growth.last_step, 100u);
  EXPECT_EQ(growth.units, 89u);
  EXPECT_EQ(growth.last, 10 * kMiB + 100 * 4096);
}

TEST(RunGrowth, WhatIsMadeInTheFirstStepsIsNoGrowth) {
  const RunGrowth growth = growth_of(100, [](uint64_t step) { return step < 3 ? step * kMiB : 3 * kMiB; });
  EXPECT_EQ(growth.kind, GrowthKind::steady);
  EXPECT_EQ(growth.lowest, 3 * kMiB);
  EXPECT_EQ(growth.highest, 3 * kMiB);
}

TEST(RunGrowth, BatchesOfDifferentSizesAreNoGrowth) {
  const RunGrowth growth = growth_of(100, [](uint64_t step) { return 10 * kMiB + step * 7919 % 101 * 4096; });
  EXPECT_EQ(growth.kind, GrowthKind::steady);
}

TEST(RunGrowth, BatchesOfDifferentSizesDoNotHideIt) {
  const RunGrowth growth =
      growth_of(200, [](uint64_t step) { return 10 * kMiB + step * 8192 + step * 7919 % 101 * 4096; });
  EXPECT_EQ(growth.kind, GrowthKind::grew);
  EXPECT_NEAR(growth.bytes_each, 8192, 1024);
}

TEST(RunGrowth, GrowthThatHasEndedIsNotSteady) {
  const auto live = [](uint64_t step) { return std::min<uint64_t>(step, 60) * kMiB; };
  EXPECT_EQ(growth_of(100, live).kind, GrowthKind::grew_first);
}

TEST(RunGrowth, JumpsInAllOfTheRunAreGrowth) {
  EXPECT_EQ(growth_of(400, [](uint64_t step) { return (1 + step / 40) * kMiB; }).kind, GrowthKind::grew);
}

TEST(RunGrowth, OfTooFewStepsNothingIsSaid) {
  EXPECT_EQ(growth_of(8, [](uint64_t step) { return step * kMiB; }).kind, GrowthKind::unknown);
  EXPECT_EQ(growth_of(9, [](uint64_t step) { return step * kMiB; }).kind, GrowthKind::grew);
  EXPECT_EQ(run_growth(History{}, 0).kind, GrowthKind::unknown);
}

TEST(RunGrowth, WithoutStepsSecondsAreCompared) {
  const History history = steps(
      60, [](uint64_t second) { return second * 1000; }, MomentKind::second);
  const RunGrowth growth = run_growth(history, 0);
  EXPECT_EQ(growth.kind, GrowthKind::grew);
  EXPECT_FALSE(growth.by_step);
  EXPECT_EQ(growth.bytes_each, 1000);
}

TEST(RunGrowth, StepsThatAreCountedAnewAreNotMixed) {
  History history = steps(20, [](uint64_t step) { return step * kMiB; });
  const History later = steps(30, [](uint64_t) { return 5 * kMiB; });
  history.points.pop_back();
  history.levels.pop_back();
  for (HistoryPoint point : later.points) {
    point.source = 3;
    history.points.push_back(point);
  }
  history.levels.insert(history.levels.end(), later.levels.begin(), later.levels.end());
  EXPECT_EQ(run_growth(history, 0).kind, GrowthKind::steady);
}

TEST(RunGrowth, TheFastestGrowingDeviceIsFound) {
  History history = steps(20, [](uint64_t step) { return step * 100; });
  history.devices.push_back({1, 0});
  std::vector<HistoryLevel> both;
  for (const HistoryLevel& level : history.levels) {
    both.push_back(level);
    both.push_back({level.live * 3, level.live * 3, 0});
  }
  history.levels = both;
  EXPECT_EQ(fastest_growing(history), 1u);
  EXPECT_EQ(run_growth(history, 1).bytes_each, 300);
}

}  // namespace
}  // namespace tensorscope::analyzer
