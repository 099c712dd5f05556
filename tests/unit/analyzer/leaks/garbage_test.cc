// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/leaks/kept_share.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using format::ReferenceRoot;
using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;

constexpr int64_t kLarge = 64 << 10;  // floats

Dumps one_dump(ReferenceRoot root, int64_t floats, bool also_held) {
  return Dumps(
      [&](Scene& scene) {
        const uint64_t tensor = scene.kept(10, floats, scene.site(8), "self.cache", root);
        if (also_held) scene.held(tensor, "batch", ReferenceRoot::local);
      },
      {1});
}

TEST(Garbage, AnUnreachableCycle) {
  Dumps run = one_dump(ReferenceRoot::cycle, kLarge, false);
  ASSERT_THAT(run.kinds(), ElementsAre("reference-cycle"));
  EXPECT_EQ(run.only().holders.at(0), "Net, dict");
  EXPECT_EQ(run.only().bytes, uint64_t(kLarge) * 4);
  EXPECT_TRUE(run.leaks.found());
}

TEST(Garbage, ACycleAtExitMayHaveBeenInUseBefore) {
  const auto dumps_of = [](format::Trigger trigger, std::vector<int> steps) {
    return Dumps(
        [&](Scene& scene) {
          scene.builder.trigger = trigger;
          scene.kept(10, kLarge, scene.site(8), "self.cache", ReferenceRoot::cycle);
        },
        steps);
  };
  Dumps alone = dumps_of(format::Trigger::exit, {1});
  EXPECT_FALSE(alone.leaks.found());
  ASSERT_EQ(alone.leaks.remarks.size(), 1u);
  EXPECT_EQ(alone.leaks.remarks[0].reason, Remark::Reason::waits_for_collector);
  EXPECT_EQ(dumps_of(format::Trigger::exit, {1, 2}).only().advice, Advice::cycle_at_exit);
  EXPECT_EQ(dumps_of(format::Trigger::signal, {1}).only().advice, Advice::break_cycle);
}

TEST(Garbage, ACycleThroughTheContextOfACustomFunction) {
  Dumps run(
      [](Scene& scene) {
        const uint32_t node = scene.node(5, testing::kTanh);
        testing::TensorSpec out = scene.plain(30, kLarge, scene.site(8));
        out.grad_fn = scene.builder.graph_address(node);
        testing::ReferenceSpec row;
        row.tensor = scene.add(out);
        row.text = "ctx.function.__self__.solution";
        row.scope = "FunctionalBackward";
        row.root = ReferenceRoot::node;
        row.node = node;
        scene.builder.reference(row);
        scene.builder.node_reference(node, row.text + ".grad_fn", row.scope, ReferenceRoot::node);
        scene.object(row.tensor);
      },
      {1});
  ASSERT_THAT(run.kinds(), ElementsAre("graph-cycle"));
  EXPECT_EQ(run.only().bytes, uint64_t(kLarge) * 4);
}

TEST(Garbage, AllThatACycleKeeps) {
  Dumps run(
      [](Scene& scene) {
        const uint32_t node = scene.node(5, testing::kTanh);
        scene.saved(20, kLarge, scene.site(9), node);
        testing::TensorSpec out = scene.plain(30, 1, scene.site(8));
        out.grad_fn = scene.builder.graph_address(node);
        const uint64_t serial = scene.add(out);
        scene.held(serial, "self.out", ReferenceRoot::cycle);
        scene.object(serial, false, false, format::WrapperState::garbage);
      },
      {1});
  ASSERT_THAT(run.kinds(), ElementsAre("reference-cycle"));
  EXPECT_EQ(run.only().bytes, uint64_t(kLarge) * 4 + 4);
}

TEST(Garbage, ALittleGarbageIsAlwaysThere) {
  EXPECT_THAT(one_dump(ReferenceRoot::cycle, 10, false).kinds(), ElementsAre());
}

// A cycle a step, all of those from one step on still there; what came before was freed.
Dumps cycles(const std::vector<int>& dumps, const std::function<int(int)>& first_kept) {
  return Dumps(
      [&](Scene& scene) {
        const uint32_t site = scene.site(8);
        const int first = first_kept(scene.steps());
        for (int step = 1; step < first; ++step) scene.builder.freed(site, kLarge * 4);
        for (int step = first; step <= scene.steps(); ++step) {
          scene.kept(testing::serial_at(step, 10), kLarge, site, "batch.x", ReferenceRoot::cycle);
        }
      },
      dumps);
}

TEST(Garbage, CyclesThatNobodyFrees) {
  const auto all = [](int) { return 1; };
  EXPECT_THAT(cycles({20}, all).kinds(), ElementsAre("reference-cycle"));
  EXPECT_THAT(cycles({10, 20}, all).kinds(), ElementsAre("reference-cycle"));
  EXPECT_THAT(cycles({10, 20, 30}, all).kinds(), ElementsAre("reference-cycle"));
}

TEST(Garbage, CyclesThatAreFreedEveryEighthStep) {
  const auto since_collected = [](int steps) { return steps / 8 * 8 + 1; };
  for (const std::vector<int>& dumps : {std::vector<int>{20}, {20, 30}, {10, 20, 30}}) {
    Dumps run = cycles(dumps, since_collected);
    EXPECT_THAT(run.kinds(), ElementsAre());
    EXPECT_FALSE(run.leaks.found());
    EXPECT_TRUE(run.leaks.suspects.empty());
    ASSERT_TRUE(run.leaks.passing_cycles.has_value());
    EXPECT_EQ(run.leaks.passing_cycles->bytes, uint64_t(dumps.back() % 8) * kLarge * 4);
  }
}

// An error that a variable of its own frame keeps is garbage like any other, though it has a traceback.
TEST(Garbage, TracebacksThatNothingReachesWaitForTheCollector) {
  Dumps run(
      [&](Scene& scene) {
        for (int step = scene.steps() / 8 * 8 + 1; step <= scene.steps(); ++step) {
          const uint64_t tensor = scene.add(scene.plain(testing::serial_at(step, 10), kLarge, scene.site(8)));
          scene.held(tensor, "batch", ReferenceRoot::traceback);
          scene.object(tensor, false, false, format::WrapperState::garbage);
        }
      },
      {10, 20, 30});
  EXPECT_THAT(run.kinds(), ElementsAre());
  EXPECT_TRUE(run.leaks.passing_cycles.has_value());
}

TEST(Garbage, CyclesThatStayThoughMostOfThatSiteIsFreed) {
  Dumps run = cycles({20, 30}, [](int) { return 16; });
  EXPECT_THAT(run.kinds(), ElementsAre("reference-cycle"));
}

TEST(Garbage, ATracebackThatIsKept) {
  Dumps run = one_dump(ReferenceRoot::traceback, kLarge, false);
  ASSERT_THAT(run.kinds(), ElementsAre("traceback"));
  EXPECT_EQ(run.only().holders.at(0), "main");
}

TEST(Garbage, AChainOfExceptionsIsKeptByWhoKeepsTheFirst) {
  Dumps run(
      [](Scene& scene) {
        std::string kept = "train.py: last";
        for (int i = 0; i < 4; ++i) {
          scene.kept_as(10 + uint64_t(i) * 10, kLarge, scene.site(8),
                        {.text = "batch",
                         .scope = (i == 0 ? "ValueError in fail (" : "OSError in send (") + kept + ")",
                         .root = ReferenceRoot::traceback});
          kept += i % 2 == 0 ? ".__cause__" : ".__context__";
        }
      },
      {1});
  ASSERT_THAT(run.kinds(), ElementsAre("traceback"));
  EXPECT_EQ(run.only().holders.at(0), "ValueError in fail (train.py: last)");
  EXPECT_EQ(run.only().bytes, uint64_t(kLarge) * 4 * 4);
}

TEST(Garbage, WhatIsHeldBesidesIsNone) {
  EXPECT_THAT(one_dump(ReferenceRoot::traceback, kLarge, true).kinds(), ElementsAre());
  EXPECT_THAT(one_dump(ReferenceRoot::cycle, kLarge, true).kinds(), ElementsAre());
}

}  // namespace
}  // namespace tensorscope::analyzer
