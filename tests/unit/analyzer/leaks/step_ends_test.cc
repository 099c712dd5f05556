// SPDX-License-Identifier: Apache-2.0
#include "leaks/step_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Dumps;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Scene;
using testing::serial_at;

constexpr int64_t kLayerFloats = 8192;  // 32 KiB
constexpr uint64_t kLayerBytes = kLayerFloats * 4;

// Step n ends before anything of step n + 1 is made, with `live` bytes; at the dump `since` more are alive, or fewer.
// A dump of the scene is taken in the step `steps()`.
void ends_with(Scene& scene, const std::function<uint64_t(int step)>& live, int64_t since,
               format::StepSource source = format::StepSource::backward) {
  testing::DumpBuilder& dump = scene.builder;
  dump.step_source = source;
  for (int step = 1; step < scene.steps(); ++step) {
    dump.step_ends.push_back(serial_at(step, 999));
    dump.history_points.emplace_back(serial_at(step, 999), uint64_t(step), 0, 1, format::MomentKind::step, source);
    dump.history_levels.emplace_back(live(step), live(step), 0);
  }
  dump.history_points.emplace_back(serial_at(scene.steps() + 1, 0), uint64_t(scene.steps()) - 1, 0, 1,
                                   format::MomentKind::dump, source);
  const uint64_t now = live(scene.steps() - 1) + uint64_t(since);
  dump.history_levels.emplace_back(now, now, 0);
}

// So many layers of the step that runs, each with an activation, and the dump within it.
void forward_pass(Scene& scene, int layers, const std::string& name = "") {
  for (int layer = 0; layer < layers; ++layer) {
    const uint64_t made =
        scene.add(scene.plain(serial_at(scene.steps(), 10 + layer * 20), kLayerFloats, scene.site(57)));
    if (!name.empty()) scene.held(made, name + "[" + std::to_string(layer) + "]", format::ReferenceRoot::local);
    if (!name.empty()) scene.object(made);
  }
  scene.until = serial_at(scene.steps(), 10 + layers * 20);
}

// Nothing that is known refers to these.
void one_a_step(Scene& scene) {
  for (int step = 1; step < scene.steps(); ++step)
    scene.add(scene.plain(serial_at(step, 500), kLayerFloats, scene.site(57)));
}

uint64_t steady(int) { return 100 * kLayerBytes; }
uint64_t one_each(int step) { return (100 + uint64_t(step)) * kLayerBytes; }

// The program is given the number of the dump, from 0.
Dumps dumps_of(const std::function<void(Scene&, size_t dump)>& program, const std::vector<int>& steps) {
  size_t dump = 0;
  return Dumps([&](Scene& scene) { program(scene, dump++); }, steps);
}

// More and more of one forward pass has run.
TEST(StepEnds, DumpsWithinOneStepShowNoLeak) {
  const std::vector<int> layers = {4, 12, 24};
  Dumps run = dumps_of(
      [&](Scene& scene, size_t dump) {
        forward_pass(scene, layers[dump], "outs");
        ends_with(scene, steady, int64_t(uint64_t(layers[dump]) * kLayerBytes));
      },
      {20, 20, 20});
  EXPECT_THAT(run.kinds(), IsEmpty());
  EXPECT_FALSE(run.leaks.found());
  ASSERT_TRUE(run.leaks.at_ends.known);
  EXPECT_EQ(run.leaks.at_ends.bytes(), 0);
  EXPECT_EQ(run.leaks.growth.running, int64_t(20 * kLayerBytes));
  EXPECT_EQ(run.leaks.growth.rest(), 0);
  EXPECT_THAT(run.leaks.unclear, IsEmpty());
}

// What lasts much longer than its steps is another part of the program, which may leak as well.
TEST(StepEnds, AServerThatHasTrainedBeforeLeaks) {
  const auto serves = [](Scene& scene, size_t) {
    for (int request = 10; request <= scene.steps(); ++request)
      scene.kept(serial_at(request, 500), kLayerFloats, scene.site(57), "seen[" + std::to_string(request) + "]");
    scene.builder.step_source = format::StepSource::backward;
    for (int step = 1; step < 6; ++step) scene.builder.step_ends.push_back(serial_at(step, 999));
  };
  Dumps run = dumps_of(serves, {20, 30, 40});
  EXPECT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(running_since(run.last().dump), 0u);
}

TEST(StepEnds, WhatCameSinceTheLastEndIsTheRunningSteps) {
  Dumps run = dumps_of(
      [](Scene& scene, size_t dump) {
        const int layers = dump == 0 ? 0 : 24;
        forward_pass(scene, layers, "outs");
        ends_with(scene, steady, int64_t(uint64_t(layers) * kLayerBytes));
      },
      {10, 20});
  EXPECT_FALSE(run.leaks.found());
  EXPECT_EQ(run.leaks.growth.all, int64_t(24 * kLayerBytes));
  EXPECT_EQ(run.leaks.growth.running, int64_t(24 * kLayerBytes));
  EXPECT_THAT(run.leaks.unclear, IsEmpty());
}

// Of the place the first dump has more than the last one, which was taken between two steps.
TEST(StepEnds, AnotherPhaseDoesNotHideALeak) {
  Dumps run = dumps_of(
      [](Scene& scene, size_t dump) {
        const int layers = dump == 0 ? 24 : 0;
        one_a_step(scene);
        forward_pass(scene, layers);
        ends_with(scene, one_each, int64_t(uint64_t(layers) * kLayerBytes));
      },
      {10, 20});
  EXPECT_TRUE(run.leaks.found());
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_THAT(run.leaks.places[0].place.growth.count, ElementsAre(9u, 19u));
  EXPECT_THAT(run.leaks.places[0].place.growth.bytes, ElementsAre(9 * kLayerBytes, 19 * kLayerBytes));
  EXPECT_LT(run.leaks.growth.all, 0);
  EXPECT_EQ(run.leaks.at_ends.bytes(), int64_t(10 * kLayerBytes));
  EXPECT_EQ(run.leaks.at_ends.bytes_each_step(), int64_t(kLayerBytes));
}

// Its newest entry is a finding's growth, and not the step's once more.
TEST(StepEnds, AFindingHasItsPartOfTheRunningStep) {
  Dumps run = dumps_of(
      [](Scene& scene, size_t) {
        for (int step = 1; step <= scene.steps(); ++step)
          scene.kept(serial_at(step, 500), kLayerFloats, scene.site(57), "seen[" + std::to_string(step) + "]");
        ends_with(scene, one_each, int64_t(kLayerBytes) * (scene.steps() == 30 ? 4 : 1));
      },
      {10, 20, 30});
  EXPECT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.leaks.growth.findings, int64_t(20 * kLayerBytes));
  EXPECT_EQ(run.leaks.at_ends.running(), int64_t(3 * kLayerBytes));
  EXPECT_EQ(run.leaks.growth.running, int64_t(3 * kLayerBytes));
}

TEST(StepEnds, StepsThatAreCountedOtherwiseAreNotCompared) {
  Dumps run = dumps_of(
      [](Scene& scene, size_t dump) {
        ends_with(scene, steady, 0, dump == 0 ? format::StepSource::backward : format::StepSource::mark);
      },
      {10, 20});
  EXPECT_FALSE(run.leaks.at_ends.known);
}

}  // namespace
}  // namespace tensorscope::analyzer
