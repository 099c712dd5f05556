// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/leaks/unfinished_calls.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using format::ReferenceRoot;
using testing::Dumps;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Scene;
using testing::serial_at;

// A call that began in each of these steps and has not ended.
void calls(Scene& scene, int from, int to, ReferenceRoot root, const std::string& variable = "keys", int number = 10) {
  for (int step = from; step <= to; ++step)
    scene.kept(serial_at(step, number), 2048, scene.site(18, "generate"), variable, root);
}

TEST(UnfinishedCalls, OfThreadsThatWaitForEver) {
  Dumps run([](Scene& scene) { calls(scene, 1, scene.steps(), ReferenceRoot::local); });
  ASSERT_THAT(run.kinds(), ElementsAre("unfinished-calls"));
  EXPECT_THAT(run.only().holders, ElementsAre("keys (local of main)"));
  EXPECT_EQ(run.only().bytes, 30u * 8192);
  EXPECT_THAT(run.only().growth.count, ElementsAre(10, 20, 30));
  EXPECT_EQ(run.only().advice, Advice::end_threads);
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_EQ(run.leaks.places[0].finding, 0u);
}

TEST(UnfinishedCalls, TwoDumpsShowThem) {
  Dumps run([](Scene& scene) { calls(scene, 1, scene.steps(), ReferenceRoot::suspended); }, {10, 20});
  ASSERT_THAT(run.kinds(), ElementsAre("unfinished-calls"));
  EXPECT_EQ(run.only().advice, Advice::close_generators);
}

TEST(UnfinishedCalls, VariablesOfOneFunctionAreOneFinding) {
  Dumps run([](Scene& scene) {
    calls(scene, 1, scene.steps(), ReferenceRoot::local);
    calls(scene, 1, scene.steps(), ReferenceRoot::local, "self.values", 30);
  });
  ASSERT_THAT(run.kinds(), ElementsAre("unfinished-calls"));
  EXPECT_THAT(run.only().holders, ElementsAre("keys (local of main)", "self.values (local of main)"));
  EXPECT_EQ(run.only().bytes, 60u * 8192);
  ASSERT_EQ(run.only().evidence[0].kind, FactKind::unfinished_calls);
  EXPECT_THAT(run.only().evidence[0].values, ElementsAre(10, 20, 30));
}

// Each waiting generator is named by what keeps it, which has another key each time.
TEST(UnfinishedCalls, OfGeneratorsThatADictKeeps) {
  const auto generators = [](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept_as(serial_at(step, 10), 2048, scene.site(18, "windows"),
                    {.text = "frames",
                     .scope = "windows (serve.py: streams['client" + std::to_string(step) + "'])",
                     .root = ReferenceRoot::suspended,
                     .steps = 1,
                     .begins_at = 0x7f0000000000 + uint64_t(step) * 64});
    }
  };
  EXPECT_THAT(Dumps(generators, {10, 20}).kinds(), ElementsAre("unfinished-calls"));
  Dumps run(generators);
  ASSERT_THAT(run.kinds(), ElementsAre("unfinished-calls"));
  EXPECT_THAT(run.only().growth.count, ElementsAre(10, 20, 30));
  EXPECT_THAT(run.only().holders, ElementsAre("frames (in the waiting windows (serve.py: streams[*]))"));
}

// Each of the first calls has returned, and others have begun: a pool that had more to do each time.
TEST(UnfinishedCalls, CallsThatReturnAreNone) {
  Dumps run([](Scene& scene) { calls(scene, scene.steps() / 2, scene.steps(), ReferenceRoot::local); });
  EXPECT_THAT(run.kinds(), IsEmpty());
}

TEST(UnfinishedCalls, FewBytesAreNone) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 2, scene.site(18, "generate"), "keys", ReferenceRoot::local);
    }
  });
  EXPECT_THAT(run.kinds(), IsEmpty());
}

}  // namespace
}  // namespace tensorscope::analyzer
