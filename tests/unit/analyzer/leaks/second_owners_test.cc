// SPDX-License-Identifier: Apache-2.0
#include "leaks/second_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;
using testing::serial_at;

std::string entry(const std::string& name, int step) { return name + "[" + std::to_string(step) + "]"; }

// A list that gets 16 KiB in each step; `held` says by what else.
Dumps run(const std::function<void(Scene&, uint64_t serial, int step)>& held) {
  return Dumps([&](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      held(scene, scene.kept(serial_at(step, 10), 4096, scene.site(12), entry("history", step)), step);
    }
  });
}

TEST(SecondOwners, AreSaidWithWhatTheContainerAloneFrees) {
  Dumps dumps = run([](Scene& scene, uint64_t serial, int step) {
    if (step % 2 == 0) scene.held(serial, entry("trainer.best", step / 2));
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: trainer.best[1..15]");
  EXPECT_EQ(dumps.only().frees_alone, 15u * 16384);
}

TEST(SecondOwners, OfAFewEntriesAreNotSaid) {
  Dumps dumps = run([](Scene& scene, uint64_t serial, int step) {
    if (step == scene.steps()) scene.held(serial, "last");
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "");
}

TEST(SecondOwners, AreNoOtherEntriesOfTheContainer) {
  Dumps dumps = run([](Scene& scene, uint64_t serial, int step) { scene.held(serial, entry("history", step + 1)); });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "");
}

}  // namespace
}  // namespace tensorscope::analyzer
