// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/forecast/{operation_inputs,operation_weights}.cc
// Covers: analyzer/forecast/whatif/{lower_casts,result_types}.cc
#include "forecast/whatif/autocast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "forecast/model_scene.h"
#include "forecast/whatif/replay_edit.h"

namespace tensorscope::analyzer::forecast {

namespace {

class AutocastTest : public ::testing::Test {
 protected:
  // The operation that makes a block, by the name that autocast knows it by.
  uint32_t make(const char* operation, const std::string& module, std::initializer_list<int64_t> shape) {
    names_.push_back(operation);
    return scene_.forward(module, shape);
  }
  void weight(const std::string& module, std::vector<int64_t> shape) {
    shapes_.push_back(std::make_unique<std::vector<int64_t>>(std::move(shape)));
    const std::vector<int64_t>& own = *shapes_.back();
    double bytes = 4;
    for (int64_t dim : own) bytes *= double(dim);
    weights_.push_back({module, own, own[0], own.size() < 2 ? 0 : own[1], bytes});
  }
  // Another run.
  void begin() {
    scene_ = ModelScene();
    names_.clear();
    weights_.clear();
  }
  // Runs it under autocast.
  void cast() {
    replay_ = scene_.replay();
    const size_t own = replay_.blocks.size();
    Operations operations = operations_of(replay_, scene_.base);
    ASSERT_EQ(operations.all.size(), names_.size());
    for (size_t i = 0; i < names_.size(); ++i) operations.all[i].traits = traits_of(names_[i], true);
    if (change_) change_(operations);
    under_autocast(replay_, scene_.base, operations, weights_);
    copies_.assign(replay_.blocks.begin() + int64_t(own), replay_.blocks.end());
  }
  // The part of its float32 bytes that a block has; of what is not known, the middle.
  double part(uint32_t block) const { return replay_.blocks[block].factor; }
  double bytes(const ReplayBlock& replay_block) const {
    return replay_.growths[replay_block.growth].bytes({}) * replay_block.factor;
  }
  // After which change of the replay a replay block is freed, or made.
  size_t change(uint32_t replay_block, bool made) const {
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      if (replay_.changes[i].block == replay_block && replay_.changes[i].made == made) return i;
    }
    return SIZE_MAX;
  }
  uint32_t number(size_t copy) const { return uint32_t(replay_.blocks.size() - copies_.size() + copy); }

  ModelScene scene_;
  Replay replay_;
  std::vector<ReplayBlock> copies_;
  std::vector<Weight> weights_;
  std::function<void(Operations&)> change_;

 private:
  std::vector<const char*> names_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> shapes_;
};

TEST_F(AutocastTest, AProductIsHalfAndItsWeightIsCastUntilBackwardHasUsedIt) {
  weight("model.up", {32, 8});
  const uint32_t x = make("embedding", "model.embed", {4, 8});
  const uint32_t y = make("linear", "model.up", {4, 32});
  const uint32_t gradient = scene_.backward(y, {32, 8}, Category::gradient);
  const uint32_t later = make("zeros", "model", {1});
  cast();
  EXPECT_EQ(part(x), 1);
  EXPECT_EQ(part(y), 0.5);
  ASSERT_EQ(copies_.size(), 3u);  // of the weight, of x, and of the gradient before it is cast
  EXPECT_TRUE(copies_[0].autocasts);
  EXPECT_EQ(bytes(copies_[0]), 32 * 8 * 2);
  EXPECT_LT(change(number(0), true), change(y, true));
  EXPECT_GT(change(number(0), false), change(gradient, true));
  EXPECT_LT(change(number(0), false), change(later, true));
  EXPECT_EQ(bytes(copies_[1]), 4 * 8 * 2);
  EXPECT_EQ(bytes(copies_[2]), 32 * 8 * 2);
  EXPECT_EQ(part(gradient), 1);
}

TEST_F(AutocastTest, TheCopyIsSavedInPlaceOfWhatBackwardNeededForItAlone) {
  weight("model.up", {32, 8});
  const uint32_t x = make("embedding", "model.embed", {4, 8});
  const uint32_t y = make("linear", "model.up", {4, 32});
  const uint32_t last = make("zeros", "model", {1});
  scene_.backward(y, {4, 8});
  scene_.free(x);
  cast();
  EXPECT_LT(change(x, false), change(last, true));
  EXPECT_GT(change(number(1), false), change(last, true));
}

TEST_F(AutocastTest, AResultThatBackwardNeedsItselfStaysBesideTheCopy) {
  weight("model.up", {32, 8});
  const uint32_t x = make("sigmoid", "model", {4, 8});
  const uint32_t y = make("linear", "model.up", {4, 32});
  const uint32_t last = make("zeros", "model", {1});
  scene_.backward(y, {4, 8});
  scene_.free(x);
  cast();
  EXPECT_GT(change(x, false), change(last, true));
}

TEST_F(AutocastTest, WhatFollowsHasTheTypeOfItsInput) {
  weight("model.up", {32, 8});
  make("embedding", "model.embed", {4, 8});
  make("linear", "model.up", {4, 32});
  const uint32_t half = make("gelu", "model", {4, 32});
  const uint32_t whole = make("gelu", "model", {4, 8});
  cast();
  EXPECT_EQ(part(half), 0.5);
  EXPECT_EQ(part(whole), 1);
}

// Queries are a view of what one product made; older is a value of as many elements and another shape.
TEST_F(AutocastTest, APartOfALargerValueThatIsNewer) {
  weight("model.qkv", {24, 8});
  make("embedding", "model.embed", {4, 8});
  make("linear", "model.qkv", {4, 24});
  const uint32_t query = make("gelu", "model.norm", {2, 4, 4});
  cast();
  EXPECT_EQ(part(query), 0.5);
}

// "self.both(x).chunk(2, 1)": x has the shape of a part, too.
TEST_F(AutocastTest, APartOfWhatItsModuleMadeIsNearerThanWhatTheModuleWasGiven) {
  for (const int64_t batch : {2, 4}) {
    begin();
    weight("model.layer.both", {16, 8, 2});
    make("embedding", "model.embed", {2, 8, 6});
    make("conv1d", "model.layer.both", {batch, 16, 1, 6});
    const uint32_t signal = make("tanh", "model.layer", {2, 8, 6});
    cast();
    EXPECT_EQ(part(signal), batch == 2 ? 0.5 : 1) << batch;
  }
}

TEST_F(AutocastTest, WhatIsPaddedHasTheTypeOfItsSmallerInput) {
  weight("model.up", {32, 8});
  make("embedding", "model.embed", {4, 8});
  make("linear", "model.up", {4, 32});
  const uint32_t whole = make("constant_pad_nd", "model", {5, 8});
  const uint32_t half = make("pad", "model", {4, 40});
  cast();
  EXPECT_EQ(part(whole), 1);
  EXPECT_EQ(part(half), 0.5);
}

// On a CPU volumes are pooled in float32; the copy is as large as what is pooled.
TEST_F(AutocastTest, WhatIsPooledIsCastAsAWhole) {
  weight("model.conv", {8, 3, 3, 3, 3});
  const uint32_t result = make("conv3d", "model.conv", {2, 8, 4, 4, 4});
  const uint32_t pooled = make("max_pool3d", "model", {2, 8, 2, 2, 2});
  const uint32_t last = make("zeros", "model", {1});
  scene_.backward(pooled, {2, 8, 4, 4, 4});
  scene_.free(result);
  cast();
  EXPECT_EQ(part(pooled), 1);
  ASSERT_EQ(copies_.size(), 2u);  // of the weight, and of what is pooled
  EXPECT_EQ(bytes(copies_[1]), 2 * 8 * 4 * 4 * 4 * 4);
  EXPECT_GT(change(number(1), false), change(last, true));  // which backward needs
}

// A convolution of a line wants channels before places, and is computed as one of an image.
TEST_F(AutocastTest, AnEmbeddingIsTransposedForAConvolutionOfALine) {
  weight("model.layer.conv", {8, 8, 3});
  make("embedding", "model.embed", {12, 8});
  const uint32_t padded = make("pad", "model.layer", {2, 8, 8});
  const uint32_t result = make("conv1d", "model.layer.conv", {2, 8, 1, 6});
  const uint32_t sum = make("add", "model.layer", {2, 8, 6});
  cast();
  EXPECT_EQ(part(padded), 1);
  EXPECT_EQ(part(result), 0.5);
  EXPECT_EQ(part(sum), 1);
  ASSERT_GE(copies_.size(), 2u);  // of the weight, and of what is convolved
  EXPECT_EQ(bytes(copies_[1]), 2 * 8 * 8 * 2);
}

TEST_F(AutocastTest, AConcatenationHasTheWidestTypeOfItsInputs) {
  weight("model.up", {8, 8});
  make("embedding", "model.embed", {4, 8});
  make("linear", "model.up", {4, 8});
  const uint32_t both = make("cat", "model", {4, 16});
  make("linear", "model.up", {3, 8});
  make("linear", "model.up", {2, 8});
  const uint32_t halves = make("cat", "model", {5, 8});
  cast();
  EXPECT_EQ(part(both), 1);
  EXPECT_EQ(part(halves), 0.5);
  EXPECT_EQ(std::ranges::count_if(copies_, &ReplayBlock::autocasts), 1);  // of the weight, for all three products
}

TEST_F(AutocastTest, AParameterInAConcatenationMakesItFloat32) {
  weight("model.up", {8, 8});
  weight("model", {1, 8});
  make("linear", "model.up", {4, 8});
  const uint32_t joined = make("cat", "model", {5, 8});
  cast();
  EXPECT_EQ(part(joined), 1);
}

// Of the shape of what a loop makes is something else as well, which does not count.
TEST_F(AutocastTest, WhatALoopMadeIsStacked) {
  weight("model.up", {8, 8});
  make("embedding", "model.embed", {4, 6});
  for (int i = 0; i < 4; ++i) make("linear", "model.up", {4, 8});
  const uint32_t stacked = make("stack", "model", {4, 40});
  cast();
  EXPECT_EQ(part(stacked), 0.5);
}

TEST_F(AutocastTest, UpsamplingHasTheTypeOfItsSmallerInput) {
  make("embedding", "model.embed", {4, 8, 64});
  make("conv2d", "model.conv", {4, 8, 2, 2});
  const uint32_t large = make("upsample_nearest2d", "model", {4, 8, 4, 4});
  cast();
  EXPECT_EQ(part(large), 0.5);
}

TEST_F(AutocastTest, ASumWithAResidualIsFloat32WhereThatIs) {
  weight("model.block.up", {8, 8});
  const uint32_t residual = make("embedding", "model.embed", {4, 8});
  make("linear", "model.block.up", {4, 8});
  make("linear", "model.block.up", {4, 8});
  const uint32_t sum = make("add", "model.block", {4, 8});
  const uint32_t product = make("linear", "model.block.up", {4, 8});
  scene_.free(residual);
  scene_.free(sum);
  make("linear", "model.block.up", {4, 8});
  const uint32_t halves = make("mul", "model.block", {4, 8});
  cast();
  EXPECT_EQ(part(sum), 1);
  EXPECT_EQ(part(product), 0.5);
  EXPECT_EQ(part(halves), 0.5);
}

TEST_F(AutocastTest, AnInputThatIsFreedByItIsOneOfTwo) {
  weight("model.up", {8, 8});
  make("linear", "model.up", {4, 8});
  const uint32_t dying = make("zeros", "model.other", {2, 16});
  make("linear", "model.up", {4, 8});
  make("linear", "model.up", {4, 8});
  const uint32_t sum = make("add", "model", {4, 8});
  scene_.free(dying);
  cast();
  EXPECT_EQ(part(sum), 1);
}

TEST_F(AutocastTest, AModulesOwnParameterMakesASumFloat32) {
  weight("model.up", {8, 8});
  weight("model.norm", {8});
  make("linear", "model.up", {4, 8});
  const uint32_t scaled = make("mul", "model.norm", {4, 8});
  make("linear", "model.up", {4, 8});
  const uint32_t elsewhere = make("relu", "model.act", {4, 8});
  cast();
  EXPECT_EQ(part(scaled), 1);
  EXPECT_EQ(part(elsewhere), 0.5);
}

TEST_F(AutocastTest, WhatIsComputedFromAParameterIsFloat32) {
  weight("model.up", {8, 8});
  weight("model.scan", {3, 5});
  make("linear", "model.up", {4, 15});
  const uint32_t decay = make("neg", "model.scan", {3, 5});
  cast();
  EXPECT_EQ(part(decay), 1);
}

TEST_F(AutocastTest, ANumberChangesNoType) {
  weight("model.up", {8, 8});
  make("embedding", "model.embed", {4, 8});
  make("linear", "model.up", {4, 8});
  const uint32_t scaled = make("mul", "model", {4, 8});
  scene_.base.blocks.back().ndim = 2;
  change_ = [&](Operations& operations) {
    // Its operation made the number as well.
    const uint32_t number = scaled + 1;
    operations.all[2].blocks.push_back(number);
    operations.all.pop_back();
    operations.of_replay_block[number] = 2;
  };
  make("mul", "model", {});
  cast();
  EXPECT_EQ(part(scaled), 0.5);
}

TEST_F(AutocastTest, StatisticsOfANormAreFloat32) {
  weight("model.up", {8, 8});
  make("linear", "model.up", {4, 8});
  const uint32_t normed = make("layer_norm", "model.norm", {4, 8});
  const uint32_t mean = make("layer_norm", "model.norm", {4});
  change_ = [&](Operations& operations) {
    operations.all[1].blocks.push_back(mean);
    operations.all.pop_back();
    operations.of_replay_block[mean] = 1;
  };
  cast();
  EXPECT_EQ(part(normed), 0.5);
  EXPECT_EQ(part(mean), 1);
}

// The mask, and what the dropout was given, are not joined: the embedding is.
TEST_F(AutocastTest, OfAChainOfOperationsTheLastIsJoined) {
  weight("model.up", {8, 8});
  make("embedding", "model.embed", {2, 2, 8});
  make("linear", "model.up", {4, 8});
  make("relu", "model", {4, 8});
  make("relu", "model", {4, 8});
  const uint32_t joined = make("cat", "model", {4, 16});
  cast();
  EXPECT_EQ(part(joined), 1);
}

TEST_F(AutocastTest, WhatAnOperationInPlaceKeepsHasTheTypeOfWhatItChanges) {
  weight("model.up", {16, 8});
  make("embedding", "model.embed", {4, 8});
  make("linear", "model.up", {4, 16});
  const uint32_t kept = make("mul_", "model", {4, 8});
  const uint32_t follows = make("gelu", "model", {4, 8});
  cast();
  EXPECT_EQ(part(kept), 0.5);
  EXPECT_EQ(part(follows), 1);
}

// As in gru_input: the first state has the type of the layer's input, each next one that of the last.
TEST_F(AutocastTest, AStateHasTheTypeOfTheFirstAndGatesThatOfProducts) {
  for (const bool half : {false, true}) {
    begin();
    weight("model.up", {8, 8});
    weight("model.gru", {24, 8});
    weight("model.gru", {24, 8});
    make(half ? "linear" : "embedding", half ? "model.up" : "model.embed", {6, 4, 8});
    const uint32_t first = make("zeros", "model.gru", {1, 4, 8});
    make("linear", "model.gru", {6, 4, 24});
    const uint32_t product = make("linear", "model.gru", {4, 24});
    const uint32_t gate = make("add", "model.gru", {4, 8});
    const uint32_t state = make("sub", "model.gru", {4, 8});
    const uint32_t again = make("linear", "model.gru", {4, 24});
    change_ = [&](Operations& operations) {
      for (size_t i = 2; i < operations.all.size(); ++i) operations.all[i].traits.in_layer = true;
      operations.all[1].traits.initial_state = true;
      operations.all[4].traits.recurrent = RecurrentPart::gate;
      operations.all[5].traits.recurrent = RecurrentPart::state;
    };
    cast();
    EXPECT_EQ(part(first), half ? 0.5 : 1);
    EXPECT_EQ(part(product), 0.5);
    EXPECT_EQ(part(gate), 0.5);
    EXPECT_EQ(part(state), half ? 0.5 : 1);
    EXPECT_EQ(part(again), 0.5);
    EXPECT_EQ(std::ranges::count_if(copies_, &ReplayBlock::autocasts), half ? 3 : 2);
  }
}

TEST_F(AutocastTest, AMeanComputesInFloat32FromACopyOnACpu) {
  weight("model.up", {8, 8});
  make("linear", "model.up", {4, 8});
  make("mean", "model", {4});
  change_ = [](Operations& operations) { operations.all[1].traits.mean = true; };
  cast();
  ASSERT_EQ(copies_.size(), 2u);
  EXPECT_EQ(bytes(copies_[1]), 4 * 8 * 4);
}

TEST_F(AutocastTest, ALossIsGivenACopyInFloat32) {
  weight("model.up", {8, 8});
  const uint32_t scores = make("linear", "model.up", {4, 8});
  const uint32_t loss = make("mse_loss", "model", {4, 8});
  const uint32_t last = make("zeros", "model", {1});
  scene_.free(scores);
  cast();
  EXPECT_EQ(part(loss), 1);
  ASSERT_EQ(copies_.size(), 2u);
  EXPECT_EQ(bytes(copies_[1]), 4 * 8 * 4);
  EXPECT_GT(change(number(1), false), change(last, true));
}

TEST_F(AutocastTest, WhatCannotBeReadMayBeEither) {
  weight("model.up", {32, 8});
  make("embedding", "model.embed", {4, 8});
  const uint32_t product = make("linear", "model.up", {4, 32});
  const uint32_t later = make("relu", "model", {4, 32});
  const uint32_t gradient = scene_.backward(product, {4, 8});
  change_ = [](Operations& operations) { operations.all[1].traits = {.unread = true}; };
  cast();
  EXPECT_TRUE(replay_.unread);
  for (const uint32_t block : {product, later, gradient}) {
    EXPECT_DOUBLE_EQ(part(block) * (1 - replay_.blocks[block].unsure), 0.5) << block;
    EXPECT_DOUBLE_EQ(part(block) * (1 + replay_.blocks[block].unsure), 1) << block;
  }
  // A copy of its weight may be there, and counts in the error alone.
  const auto copy = std::ranges::find_if(copies_, &ReplayBlock::autocasts);
  ASSERT_NE(copy, copies_.end());
  EXPECT_LT(bytes(*copy), 1);
  EXPECT_NEAR(bytes(*copy) * copy->unsure, 32 * 8 * 2, 1);
}

TEST_F(AutocastTest, GradientsOfWhatIsGatheredAreAddedUpInFloat32) {
  const auto buffers = [&](const char* maker) {
    begin();
    weight("model.head", {8, 5});
    make(maker, "model.head", {2, 8});
    const uint32_t chosen = make("gather", "model", {2, 1});
    scene_.free(scene_.backward(chosen, {2, 1}));  // of a view of it
    scene_.backward(chosen, {2, 8});
    cast();
    return std::ranges::count_if(copies_, [&](const ReplayBlock& copy) { return bytes(copy) == 4 * 2 * 8; });
  };
  EXPECT_EQ(buffers("linear"), 1);
  EXPECT_EQ(buffers("embedding"), 0);  // in float32 already
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
