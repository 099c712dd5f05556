// SPDX-License-Identifier: Apache-2.0
// What a remedy costs, the line to change, and the order that follows from both.
// Covers: analyzer/oom/{tradeoff,lines_to_change}.cc
#include "oom/tradeoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_scene.h"

namespace tensorscope::analyzer::oom {
namespace {

using testing::DeviceScene;
using ::testing::HasSubstr;
using testing::kMiB;
using testing::Told;

DeviceScene of_layers() {
  DeviceScene scene;
  scene.segment();
  for (const char* module : {"model.layers.0", "model.layers.1"}) {
    const uint32_t site = scene.in_module(module, 10);
    scene.saved(60 * kMiB, site, scene.node(site));
  }
  return scene;
}

TEST(Tradeoff, CheckpointingNamesTheCallOfTheModules) {
  DeviceScene scene = of_layers();
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::checkpoint);
  ASSERT_NE(remedy, nullptr);
  EXPECT_THAT(remedy->where, HasSubstr("model.py:10 model.layers"));
  EXPECT_EQ(tradeoff_of(*remedy).time, Tradeoff::Time::forward_again);
  EXPECT_EQ(tradeoff_of(*remedy).results, Tradeoff::Results::same);
  EXPECT_EQ(remedy->low, 60 * kMiB);  // backward has one of them at a time
  EXPECT_EQ(remedy->high, 120 * kMiB);
}

TEST(Tradeoff, CheckpointingTellsOfBatchNormInTheModules) {
  DeviceScene scene = of_layers();
  const char* const batch_norm = "N5torch8autograd9generated24NativeBatchNormBackward0E";
  const auto told = [&] { return Told(scene).remedy(RemedyKind::checkpoint)->batch_norm; };
  EXPECT_FALSE(told());
  scene.node(scene.in_module("model.stem", 12), batch_norm);
  EXPECT_FALSE(told());
  scene.node(scene.in_module("model.layers.1", 10), batch_norm);
  EXPECT_TRUE(told());
}

TEST(Tradeoff, LowerPrecisionBelongsWhereTheModelIsCalled) {
  DeviceScene scene = of_layers();
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::lower_precision);
  ASSERT_NE(remedy, nullptr);
  EXPECT_THAT(remedy->where, HasSubstr("train.py:7 main"));
  EXPECT_EQ(tradeoff_of(*remedy).results, Tradeoff::Results::rounding);
  EXPECT_TRUE(remedy->at_most);
  EXPECT_EQ(told.remedy(RemedyKind::smaller_batch)->where, "");  // no input batch is in the dump
}

// Without cuDNN each position of a sequence saves a copy of its own of the weights that it multiplies by.
TEST(Tradeoff, LowerPrecisionIsLessWhatRecurrentLayersCopy) {
  DeviceScene scene = of_layers();
  testing::TensorSpec weight;
  weight.dtype = 6;
  scene.held(scene.tensor(8 * kMiB, 0, 0, weight), "model.lstm.weight_hh_l0", format::ReferenceRoot::global,
             format::ReferenceRole::parameter);
  const uint32_t site = scene.in_module("model.lstm", 11);
  const auto positions = [&](int count) {
    for (int i = 0; i < count; ++i) scene.node(site, "N5torch8autograd9generated26ThnnFusedLstmCellBackward0E");
  };
  positions(8);
  {
    DeviceScene some = scene;
    const Told told(some);
    ASSERT_NE(told.remedy(RemedyKind::lower_precision), nullptr);
    EXPECT_EQ(told.remedy(RemedyKind::lower_precision)->bytes, (60 - 8 * 4) * kMiB);
  }
  positions(8);
  EXPECT_EQ(Told(scene).remedy(RemedyKind::lower_precision), nullptr);
}

TEST(Tradeoff, HalfTheBatchHasARange) {
  DeviceScene scene = of_layers();
  scene.held(scene.tensor(20 * kMiB), "features[0]");
  scene.block(2 * kMiB);
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::smaller_batch);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 60 * kMiB);
  EXPECT_EQ(remedy->low, 60 * kMiB);
  EXPECT_EQ(remedy->high, 71 * kMiB);  // what is in a list, and in no tensor, may be of the batch, too
}

TEST(Tradeoff, WhatIsNotEnoughComesAfterWhatIs) {
  DeviceScene scene = of_layers();
  scene.held(scene.tensor(5 * kMiB), "small[0]");
  scene.held(scene.tensor(5 * kMiB), "small[1]");
  scene.failure.requested = 40 * kMiB;
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::drop_holder), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::drop_holder)->fits, Fits::no);
  EXPECT_EQ(told.analysis.remedies.front().kind, RemedyKind::checkpoint);
  EXPECT_EQ(told.analysis.remedies.back().kind, RemedyKind::drop_holder);
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
