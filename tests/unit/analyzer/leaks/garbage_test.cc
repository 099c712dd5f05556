#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const auto advice = [](format::Trigger trigger) {
    Dumps run(
        [&](Scene& scene) {
          scene.builder.trigger = trigger;
          scene.kept(10, kLarge, scene.site(8), "self.cache", ReferenceRoot::cycle);
        },
        {1});
    return run.only().advice;
  };
  EXPECT_EQ(advice(format::Trigger::exit), Advice::cycle_at_exit);
  EXPECT_EQ(advice(format::Trigger::signal), Advice::break_cycle);
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

TEST(Garbage, ATracebackThatIsKept) {
  Dumps run = one_dump(ReferenceRoot::traceback, kLarge, false);
  ASSERT_THAT(run.kinds(), ElementsAre("traceback"));
  EXPECT_EQ(run.only().holders.at(0), "main");
}

TEST(Garbage, WhatIsHeldBesidesIsNone) {
  EXPECT_THAT(one_dump(ReferenceRoot::traceback, kLarge, true).kinds(), ElementsAre());
  EXPECT_THAT(one_dump(ReferenceRoot::cycle, kLarge, true).kinds(), ElementsAre());
}

}  // namespace
}  // namespace tensorscope::analyzer
