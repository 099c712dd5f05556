// SPDX-License-Identifier: Apache-2.0
#include "forecast/growth.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer::forecast {

namespace {

const std::vector<Size> kBatch = {{"batch", {8, 16}}};
const std::vector<Size> kThreeBatches = {{"batch", {8, 16, 24}}};
const std::vector<Size> kBoth = {{"batch", {2, 4, 2}}, {"sequence", {32, 32, 64}}};

Growth of(const std::vector<Size>& sizes, const std::vector<std::vector<int64_t>>& shapes, bool cpu = true) {
  std::vector<SeenBlock> seen;
  for (const std::vector<int64_t>& shape : shapes) {
    SeenBlock block{4, shape, 4, 1};
    for (int64_t dim : shape) block.bytes *= double(dim);
    if (!cpu) block.bytes = double((uint64_t(block.bytes) + 511) / 512 * 512);
    seen.push_back(block);
  }
  return {sizes, seen, shapes.size() - 1, cpu};
}

Growth of_bytes(const std::vector<Size>& sizes, const std::vector<double>& bytes) {
  std::vector<SeenBlock> seen;
  for (double value : bytes) seen.push_back({value, {}, 0, 1});
  return {sizes, seen, bytes.size() - 1, true};
}

TEST(Growth, AShapeTellsProducts) {
  const Growth linear = of(kBatch, {{8, 100}, {16, 100}});
  EXPECT_EQ(linear.basis(), Basis::shape);
  EXPECT_EQ(linear.bytes({64}), 64 * 100 * 4);
  EXPECT_EQ(linear.spread({64}, {16}), 0);
  EXPECT_EQ(linear.powers(), (Powers{1, 0}));

  const Growth square = of(kBatch, {{3, 8, 8}, {3, 16, 16}});
  EXPECT_EQ(square.bytes({64}), 3 * 64 * 64 * 4);
  EXPECT_EQ(square.powers(), (Powers{2, 0}));
}

TEST(Growth, TwoSizesInOneDimension) {
  const Growth flat = of(kBoth, {{64, 10}, {128, 10}, {128, 10}});
  EXPECT_EQ(flat.bytes({8, 128}), 8 * 128 * 10 * 4);
  EXPECT_EQ(flat.powers(), (Powers{1, 1}));
  const Growth attention = of(kBoth, {{2, 4, 32, 32}, {4, 4, 32, 32}, {2, 4, 64, 64}});
  EXPECT_EQ(attention.bytes({8, 128}), 8.0 * 4 * 128 * 128 * 4);
  EXPECT_EQ(attention.powers(), (Powers{1, 2}));
}

TEST(Growth, ADimensionMayStartElsewhere) {
  const Growth shifted = of(kBatch, {{7, 10}, {15, 10}});
  EXPECT_EQ(shifted.bytes({64}), 63 * 10 * 4);
  EXPECT_EQ(shifted.basis(), Basis::assumed);
  EXPECT_GT(shifted.spread({64}, {16}), 0);
  EXPECT_EQ(of(kThreeBatches, {{7, 10}, {15, 10}, {23, 10}}).basis(), Basis::shape);
}

TEST(Growth, DevicesRoundUp) {
  const Growth odd = of(kBatch, {{8, 33}, {16, 33}}, false);
  EXPECT_EQ(odd.basis(), Basis::shape);
  EXPECT_EQ(odd.bytes({32}), 4608);  // 4224 in pieces of 512
}

TEST(Growth, BytesAloneNeedMoreInputsThanUnknowns) {
  EXPECT_EQ(of_bytes(kBatch, {100, 100}).basis(), Basis::constant);
  const Growth guessed = of_bytes(kBatch, {100, 180});
  EXPECT_EQ(guessed.basis(), Basis::assumed);
  EXPECT_EQ(guessed.bytes({32}), 340);
  EXPECT_EQ(guessed.spread({32}, {16}), 80);
  const Growth known = of_bytes(kThreeBatches, {100, 180, 260});
  EXPECT_EQ(known.basis(), Basis::verified);
  EXPECT_EQ(known.spread({32}, {24}), 0);
}

TEST(Growth, ASquareIsSeenInThreeInputs) {
  const Growth square = of_bytes(kThreeBatches, {64 + 5, 256 + 5, 576 + 5});
  EXPECT_EQ(square.basis(), Basis::verified);
  EXPECT_NEAR(square.bytes({32}), 1024 + 5, 1e-6);
  const Growth both = of_bytes(kThreeBatches, {64 + 80 + 5, 256 + 160 + 5, 576 + 240 + 5});
  EXPECT_EQ(both.basis(), Basis::assumed);
  EXPECT_NEAR(both.bytes({32}), 1024 + 320 + 5, 1e-6);
}

TEST(Growth, WhatFitsNoFormSaysSo) {
  const Growth saw = of_bytes(kThreeBatches, {1000, 3000, 2000});
  EXPECT_EQ(saw.basis(), Basis::irregular);
  EXPECT_GT(saw.spread({48}, {24}), 0);
  EXPECT_STREQ(text(saw.basis()), "irregular");
}

// A library took another path at the larger size.
TEST(Growth, LessAtALargerSizeIsNotExtrapolated) {
  const Growth fell = of_bytes(kBatch, {10000, 1600});
  EXPECT_EQ(fell.basis(), Basis::not_matched);
  EXPECT_EQ(fell.bytes({64}), 1600);
  EXPECT_EQ(fell.bytes({8}), 10000);
  EXPECT_EQ(fell.spread({64}, {16}), 4800);
  EXPECT_FALSE(fell.varies());
  EXPECT_EQ(of_bytes(kBatch, {1001, 1000}).basis(), Basis::irregular);
}

// cuDNN takes another algorithm for another size: however well two inputs agree, nothing is known of a third.
TEST(Growth, WhatALibraryChoosesIsOffByAllOfIt) {
  const std::vector<SeenBlock> seen = {{1000, {}, 0, 1, true}, {2000, {}, 0, 1, true}};
  const Growth growth(kBatch, seen, 1, false);
  EXPECT_EQ(growth.basis(), Basis::scratch);
  EXPECT_EQ(growth.bytes({64}), 8000);
  EXPECT_EQ(growth.spread({64}, {16}), 8000);
  EXPECT_EQ(growth.spread({1}, {16}), 2000);
}

TEST(Growth, CountsGrowAsDimensionsDo) {
  std::vector<int64_t> shape = {10};
  const std::vector<SeenBlock> seen = {{40 * 8, shape, 4, 8}, {40 * 16, shape, 4, 16}};
  const Growth growth(kBatch, seen, 1, true);
  EXPECT_EQ(growth.basis(), Basis::shape);
  EXPECT_EQ(growth.bytes({64}), 40 * 64);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
