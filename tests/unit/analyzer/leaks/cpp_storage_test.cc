// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;
using testing::serial_at;

TEST(CppStorage, IsAFinding) {
  auto cpp = [](Scene& scene, int from) {
    for (int step = from; step <= scene.steps(); ++step)
      scene.add(scene.plain(serial_at(step, 10), 2048, scene.site(12)));
  };
  Dumps run([&](Scene& scene) { cpp(scene, 1); });
  ASSERT_THAT(run.kinds(), ElementsAre("cpp-only"));
  EXPECT_EQ(run.only().bytes, 30u * 8192);
  EXPECT_THAT(Dumps([&](Scene& scene) { cpp(scene, scene.steps() - 5); }).kinds(), ElementsAre());
}

// Weights that a model packs into an object of C++: they come where its others do.
TEST(CppStorage, BelongsToWhatComesWithIt) {
  const auto dumps_of = [](uint32_t line) {
    return Dumps([line](Scene& scene) {
      for (int step = 1; step <= scene.steps(); ++step) {
        scene.kept(serial_at(step, 10), 4096, scene.site(12), "models[" + std::to_string(step) + "].bias");
        scene.add(scene.plain(serial_at(step, 20), 2048, scene.site(line)));
      }
    });
  };
  Dumps same = dumps_of(12);
  ASSERT_THAT(same.kinds(), ElementsAre("container"));
  EXPECT_THAT(same.only().evidence, ::testing::Contains(::testing::Field(&Fact::kind, FactKind::cpp_tensors)));
  EXPECT_THAT(dumps_of(40).kinds(), ElementsAre("container", "cpp-only"));
}

TEST(CppStorage, IsNotKnownWithoutPhaseTwo) {
  Dumps run([](Scene& scene) {
    scene.builder.has_references = scene.builder.has_graph = false;
    for (int step = 1; step <= scene.steps(); ++step) scene.add(scene.plain(serial_at(step, 10), 2048, scene.site(12)));
  });
  EXPECT_THAT(run.kinds(), ElementsAre());
  EXPECT_TRUE(run.leaks.found());  // the place grew all the same
}

// The search for names ended early: what it did not look at may be held by anything.
TEST(CppStorage, IsNotConcludedFromWhatWasNotLookedAt) {
  Dumps run([](Scene& scene) {
    scene.builder.references_complete = false;
    for (int step = 1; step <= scene.steps(); ++step) scene.add(scene.plain(serial_at(step, 10), 2048, scene.site(12)));
    scene.kept(serial_at(1, 20), 1, scene.site(13), "looked_at");
  });
  EXPECT_THAT(run.kinds(), ElementsAre());
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_TRUE(run.leaks.places[0].holder_unknown);
  EXPECT_EQ(run.leaks.places[0].names_detail, "there was no time");
  Dumps looked([](Scene& scene) {
    scene.builder.references_complete = false;
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.object(scene.add(scene.plain(serial_at(step, 10), 2048, scene.site(12))), false, false,
                   format::WrapperState::kept_by_cpp);
    }
  });
  EXPECT_THAT(looked.kinds(), ElementsAre("cpp-only"));
}

}  // namespace
}  // namespace tensorscope::analyzer
