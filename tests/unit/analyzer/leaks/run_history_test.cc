// SPDX-License-Identifier: Apache-2.0
#include "leaks/run_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using ::testing::DoubleNear;
using testing::Dumps;
using ::testing::IsEmpty;
using testing::Scene;
using testing::serial_at;

constexpr int64_t kSeenFloats = 8192;
constexpr uint64_t kSeenBytes = kSeenFloats * 4;
constexpr int kRunSteps = 60;

// Live bytes at the end of each step of the scene.
void history(Scene& scene, const std::function<uint64_t(int step)>& live) {
  testing::DumpBuilder& dump = scene.builder;
  dump.step_source = format::StepSource::backward;
  const auto time_of = [&](int step) { return dump.start_ns + serial_at(step, 999) * dump.ns_each_serial; };
  for (int step = 1; step <= scene.steps(); ++step) {
    dump.step_ends.push_back(serial_at(step, 999));
    dump.history_points.emplace_back(time_of(step), uint64_t(step), 0, 1, format::MomentKind::step,
                                     format::StepSource::backward);
    dump.history_levels.emplace_back(live(step), live(step), 0);
  }
  dump.history_points.emplace_back(dump.dump_ns, uint64_t(scene.steps()), 0, 1, format::MomentKind::dump,
                                   format::StepSource::backward);
  dump.history_levels.push_back(dump.history_levels.back());
}

// A buffer that has an entry of each step, of which the newest `kept` are there.
void buffer(Scene& scene, int kept, const char* name = "seen", int line = 12) {
  const uint32_t site = scene.site(line);
  const int first = std::max(1, scene.steps() - kept + 1);
  for (int step = 1; step < first; ++step) scene.builder.freed(site, kSeenBytes);
  for (int step = first; step <= scene.steps(); ++step) {
    scene.kept(serial_at(step, line), kSeenFloats, site, name + ("[" + std::to_string(step) + "]"));
  }
}

Dumps with_steps(const Dumps::Program& program) { return Dumps(program, {kRunSteps}); }

TEST(RunHistory, ASuspectThatMemoryGrewBySaysItsShare) {
  Dumps run = with_steps([](Scene& scene) {
    buffer(scene, kRunSteps);
    history(scene, [](int step) { return uint64_t(100 + step) * kSeenBytes; });
  });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_THAT(run.leaks.suspects[0].share, DoubleNear(1, 0.01));
  EXPECT_TRUE(run.leaks.trend.grew());
  EXPECT_EQ(run.leaks.trend.growth.bytes_each, double(kSeenBytes));
  EXPECT_THAT(unexplained_share(run.leaks.trend, run.leaks.suspects), DoubleNear(0, 0.01));
}

// Two of three entries that were ever made are alive: from the dump's rows alone it may be growing.
TEST(RunHistory, AFullBufferIsNoSuspectWhereMemoryDidNotGrow) {
  const auto with_history = [](bool known) {
    return with_steps([known](Scene& scene) {
      buffer(scene, kRunSteps / 3 * 2);
      if (known)
        history(scene, [](int step) { return (100 + uint64_t(std::min(step, kRunSteps / 3 * 2))) * kSeenBytes; });
    });
  };
  EXPECT_EQ(with_history(false).leaks.suspects.size(), 1u);
  Dumps run = with_history(true);
  EXPECT_THAT(run.leaks.suspects, IsEmpty());
  ASSERT_EQ(run.leaks.replaced.size(), 1u);
  EXPECT_EQ(run.leaks.replaced[0].holder, "train.py: seen[21..60]");
}

// Batches of different sizes say nothing of what is smaller than they are.
TEST(RunHistory, MemoryThatGoesUpAndDownRefutesNothing) {
  Dumps run = with_steps([](Scene& scene) {
    buffer(scene, kRunSteps);
    history(scene, [](int step) { return uint64_t(100 + step * 37 % 101) * kSeenBytes; });
  });
  EXPECT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_THAT(run.leaks.replaced, IsEmpty());
}

// What was there from the first step on is larger; what memory grows by comes first.
TEST(RunHistory, WhatExplainsTheGrowthComesFirst) {
  Dumps run = with_steps([](Scene& scene) {
    buffer(scene, kRunSteps);
    const auto large = [&](int step, int number) {
      scene.kept(serial_at(step, 50 + number * 4), kSeenFloats * 4, scene.site(40),
                 "large[" + std::to_string(step) + "]");
    };
    for (int number = 0; number < 30; ++number) large(1, number);
    for (const int step : {20, 40, 60}) large(step, 0);
    history(scene, [](int step) { return uint64_t(1000 + step + step / 20 * 4) * kSeenBytes; });
  });
  ASSERT_EQ(run.leaks.suspects.size(), 2u);
  EXPECT_EQ(run.leaks.suspects[0].holder, "train.py: seen[1..60]");
  EXPECT_LT(run.leaks.suspects[0].bytes, run.leaks.suspects[1].bytes);
}

TEST(RunHistory, WhatNoSuspectExplainsIsKnown) {
  Dumps run = with_steps([](Scene& scene) {
    buffer(scene, kRunSteps);
    history(scene, [](int step) { return uint64_t(100 + 4 * step) * kSeenBytes; });
  });
  EXPECT_THAT(unexplained_share(run.leaks.trend, run.leaks.suspects), DoubleNear(0.75, 0.01));
}

TEST(RunHistory, WithoutAHistoryNothingIsKnown) {
  Dumps run = with_steps([](Scene& scene) { buffer(scene, kRunSteps); });
  EXPECT_FALSE(run.leaks.trend.known);
  EXPECT_EQ(run.leaks.suspects.at(0).share, 0);
}

}  // namespace
}  // namespace tensorscope::analyzer
