// SPDX-License-Identifier: Apache-2.0
#include "forecast/sizes.h"

#include <gtest/gtest.h>

#include "dump/reader.h"
#include "run_scene.h"

namespace tensorscope::analyzer::forecast {

namespace {

constexpr int8_t kInt64Type = 4;

// Tokens come in, activations have the flat product and a stride of it.
RunScene attention(int64_t batch, int64_t length) {
  RunScene scene;
  scene.make(1, {batch, length}, kInt64Type);
  scene.make(2, {batch * length, 10});
  scene.make(3, {batch, 4, length, length});
  scene.make(4, {length / 8, 10});
  return scene;
}

TEST(Sizes, OneIsFoundInTheInput) {
  const std::vector<Size> sizes = find_sizes(samples_of(attention(8, 64), attention(16, 64)), {});
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_EQ(sizes[0].name, "batch");
  EXPECT_EQ(sizes[0].seen, (std::vector<int64_t>{8, 16}));
  EXPECT_TRUE(sizes[0].found);
  const std::vector<Size> lengths = find_sizes(samples_of(attention(8, 64), attention(8, 128)), {});
  EXPECT_EQ(lengths[0].name, "sequence");
  EXPECT_EQ(lengths[0].seen, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(find_sizes(samples_of(attention(8, 64), attention(8, 128)), {"tokens"})[0].name, "tokens");
}

TEST(Sizes, TwoAreToldApartByThreeInputs) {
  const std::vector<Size> sizes =
      find_sizes(samples_of(attention(8, 64), attention(16, 64), attention(8, 128)), {"length", "batch"});
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].name, "batch");
  EXPECT_EQ(sizes[0].seen, (std::vector<int64_t>{8, 16, 8}));
  EXPECT_EQ(sizes[1].name, "length");
  EXPECT_EQ(sizes[1].seen, (std::vector<int64_t>{64, 64, 128}));
}

// The source is twice as long as the target; a flat batch of targets is no length of its own.
TEST(Sizes, OtherDimensionsOfInputsThatFitAreNamed) {
  const auto translation = [](int64_t length) {
    RunScene scene;
    scene.make(1, {4, 2 * length}, kInt64Type);
    scene.make(2, {4, length}, kInt64Type);
    scene.make(3, {4 * length}, kInt64Type);
    scene.make(4, {4, 3 * length});
    return scene;
  };
  const std::vector<Size> sizes = find_sizes(samples_of(translation(16), translation(32)), {});
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_EQ(sizes[0].seen, (std::vector<int64_t>{16, 32}));
  EXPECT_EQ(sizes[0].others, (std::vector<std::vector<int64_t>>{{32, 64}}));
  EXPECT_TRUE(find_sizes(samples_of(attention(8, 64), attention(16, 64)), {})[0].others.empty());
}

TEST(Sizes, OneSizeStaysOneWithManyInputs) {
  EXPECT_EQ(find_sizes(samples_of(attention(8, 64), attention(16, 64), attention(24, 64)), {}).size(), 1u);
}

TEST(Sizes, MistakesAreSaid) {
  EXPECT_THROW(find_sizes(samples_of(attention(8, 64), attention(8, 64)), {}), BadInput);
  const std::vector<Sample> two = samples_of(attention(8, 64), attention(16, 64));
  EXPECT_NO_THROW(check_sizes({{"batch", {8, 16}}}, two));
  EXPECT_THROW(check_sizes({{"batch", {8, 8}}}, two), BadInput);
  EXPECT_THROW(check_sizes({{"batch", {8}}}, two), BadInput);
  EXPECT_THROW(check_sizes({{"batch", {0, 8}}}, two), BadInput);
  EXPECT_THROW(check_sizes({{"batch", {8, 16}}, {"sequence", {64, 64}}}, two), BadInput);
  const std::vector<Sample> three = samples_of(attention(8, 64), attention(16, 64), attention(32, 64));
  EXPECT_THROW(check_sizes({{"batch", {8, 16, 32}}, {"sequence", {64, 128, 256}}}, three), BadInput);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
