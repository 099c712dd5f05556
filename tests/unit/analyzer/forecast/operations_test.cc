// SPDX-License-Identifier: Apache-2.0
#include "forecast/operations.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer::forecast {

namespace {

TEST(Operations, WhatAutocastDoesWithThem) {
  EXPECT_EQ(traits_of("linear", true).rule, CastRule::lower);
  EXPECT_EQ(traits_of("conv2d", false).rule, CastRule::lower);
  EXPECT_TRUE(traits_of("conv2d", false).convolution);
  EXPECT_EQ(traits_of("cross_entropy_loss", true).rule, CastRule::float32);
  EXPECT_EQ(traits_of("softmax", false).rule, CastRule::float32);
  EXPECT_EQ(traits_of("softmax", true).rule, CastRule::follows);  // on devices alone
  EXPECT_EQ(traits_of("layer_norm", false).rule, CastRule::float32);
  EXPECT_EQ(traits_of("layer_norm", true).rule, CastRule::follows);
}

TEST(Operations, ListsOfTheCpuAreOthersThanThoseOfDevices) {
  EXPECT_EQ(traits_of("prelu", true).rule, CastRule::lower);
  EXPECT_EQ(traits_of("mkldnn_rnn_layer", true).rule, CastRule::lower);
  EXPECT_EQ(traits_of("_cudnn_rnn", false).rule, CastRule::lower);
  EXPECT_EQ(traits_of("max_pool3d", true).rule, CastRule::float32);
  EXPECT_EQ(traits_of("max_pool3d", false).rule, CastRule::follows);
  EXPECT_EQ(traits_of("triplet_margin_loss", true).rule, CastRule::float32);
}

TEST(Operations, HowTheTypeFollows) {
  EXPECT_EQ(traits_of("add", true).kind, OperationKind::binary);
  EXPECT_EQ(traits_of("gelu", true).kind, OperationKind::like_input);
  EXPECT_EQ(traits_of("max_pool2d", true).kind, OperationKind::reshaping);
  EXPECT_EQ(traits_of("embedding", true).kind, OperationKind::factory);
  EXPECT_TRUE(traits_of("batch_norm", true).norm);
  EXPECT_TRUE(traits_of("embedding", true).stream);
  EXPECT_FALSE(traits_of("mul", true).stream);
  EXPECT_TRUE(traits_of("mul_", true).in_place);
  EXPECT_FALSE(traits_of("mul", true).in_place);
  EXPECT_TRUE(traits_of("relu", true).saves_result);
  EXPECT_FALSE(traits_of("gelu", true).saves_result);
  EXPECT_TRUE(traits_of("feature_dropout", true).dropout);
}

// Two layers that each save their input, and the backward of the second.
TEST(Operations, EachWithItsBackward) {
  Sample base;
  base.opened = std::make_unique<OpenedDump>(Dump{}, SymbolOptions{});
  const auto make = [&](uint32_t site, uint32_t of) {
    Block block;
    block.site = site;
    block.backward = of != kNone;
    block.forward_block = of;
    base.blocks.push_back(block);
    base.changes.push_back({uint32_t(base.blocks.size() - 1), true});
  };
  make(1, kNone);
  make(1, kNone);  // of the same operation
  make(2, kNone);
  make(9, 2);
  base.changes.push_back({2, false});
  make(9, 1);
  Replay replay;
  for (uint32_t i = 0; i < base.blocks.size(); ++i) replay.blocks.push_back({.block = i});
  replay.changes = base.changes;
  const Operations found = operations_of(replay, base);
  ASSERT_EQ(found.all.size(), 2u);
  EXPECT_EQ(found.all[0].blocks, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(found.all[0].begin, 0u);
  EXPECT_EQ(found.all[0].end, 2u);
  EXPECT_EQ(found.all[0].backward_begin, 5u);
  EXPECT_EQ(found.all[1].backward_begin, 3u);
  EXPECT_EQ(found.all[1].backward_end, 5u);
  EXPECT_EQ(found.of_replay_block, (std::vector<uint32_t>{0, 0, 1, 1, 0}));
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
