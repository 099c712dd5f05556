// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using format::ReferenceRoot;
using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;
using testing::serial_at;
using testing::TensorSpec;

enum class Base { gone, of_views, held };

// A view of `floats` on a storage of a mebibyte.
uint64_t view(Scene& scene, uint64_t serial, int64_t floats, const std::string& text, ReferenceRoot root,
              Base base = Base::gone) {
  TensorSpec whole = scene.plain(serial, 256 << 10, scene.site(5));
  whole.storage_nbytes = 1 << 20;
  if (base != Base::gone) scene.add(whole);
  if (base == Base::held) scene.held(whole.serial, "batch", ReferenceRoot::local);
  TensorSpec part = whole;
  part.serial = serial + 2;
  part.address = Scene::address(part.serial);
  part.sizes = {floats};
  part.flags = uint32_t(format::TensorFlag::leaf) | uint32_t(format::TensorFlag::view);
  scene.add(part);
  scene.held(part.serial, text, root);
  scene.object(part.serial);
  return part.serial;
}

void crops(Scene& scene, int64_t floats, Base base = Base::gone) {
  for (int i = 0; i < 4; ++i) {
    view(scene, serial_at(1, i * 10 + 1), floats, "crops[" + std::to_string(i) + "]", ReferenceRoot::local, base);
  }
}

TEST(SmallViews, ThatKeepLargeStorages) {
  for (Base base : {Base::gone, Base::of_views}) {
    Dumps run([&](Scene& scene) { crops(scene, 1024, base); }, {1});
    ASSERT_THAT(run.kinds(), ElementsAre("small-view"));
    EXPECT_EQ(run.only().holders.at(0), "crops[0..3] (local of main)");
    EXPECT_EQ(run.only().bytes, uint64_t{4} << 20);
    EXPECT_EQ(run.only().tensors.size(), base == Base::gone ? 4u : 8u);
  }
}

TEST(SmallViews, OneThatUsesEnoughOfItIsNone) {
  EXPECT_THAT(Dumps([](Scene& scene) { crops(scene, 100 << 10); }, {1}).kinds(), ElementsAre());
}

TEST(SmallViews, WhereTheBaseIsUsedTooIsNone) {
  EXPECT_THAT(Dumps([](Scene& scene) { crops(scene, 10, Base::held); }, {1}).kinds(), ElementsAre());
}

TEST(SmallViews, AVariableOfARunningFunctionMayBeAboutToGo) {
  auto local = [](Scene& scene) {
    for (int i = 0; i < 2; ++i) {
      view(scene, serial_at(scene.steps(), i * 10 + 1), 10, "cls", ReferenceRoot::local);
    }
  };
  EXPECT_THAT(Dumps(local, {1}).kinds(), ElementsAre());
  EXPECT_THAT(Dumps(local, {1, 2}).kinds(), ElementsAre());
  // It is still there a dump later.
  auto stays = [](Scene& scene) {
    for (int i = 0; i < 2; ++i) view(scene, serial_at(1, i * 10 + 1), 10, "cls", ReferenceRoot::local);
  };
  EXPECT_THAT(Dumps(stays, {1, 2}).kinds(), ElementsAre("small-view"));
}

TEST(SmallViews, TheyComeBeforeTheContainerThatGrows) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      view(scene, serial_at(step, 1), 10, "crops[" + std::to_string(step) + "]", ReferenceRoot::global);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("small-view"));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
}

}  // namespace
}  // namespace tensorscope::analyzer
