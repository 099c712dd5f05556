// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/unfolding.h"

#include <gtest/gtest.h>

#include "forecast/model_scene.h"

namespace tensorscope::analyzer::forecast {

namespace {

// Of a run: bytes that are there, and that may be.
struct Peaks {
  double surely, perhaps;
};

// A convolution of 4 channels into 8 by a square of `side`, over 2 x 10 x 10, on its own.
Peaks convolved(int64_t side, bool cpu, OperationTraits traits = traits_of("conv2d", true), bool bias = false) {
  ModelScene scene;
  const uint32_t result = scene.forward("model.conv", {2, 8, 10, 10});
  scene.backward(result, {2, 4, 10, 10});
  Replay replay = scene.replay();
  if (!cpu) scene.base.device.type = 1;
  Operations operations = operations_of(replay, scene.base);
  operations.all[0].traits = traits;
  const std::vector<int64_t> shape = {8, 4, side, side}, of_bias = {8};
  std::vector<Weight> weights = {Weight{"model.conv", shape, 8, 4, 0}};
  if (bias) weights.push_back(Weight{"model.conv", of_bias, 8, 0, 0});
  add_im2col_buffers(replay, scene.base, operations, weights);
  return {peak(replay, {}).bytes, highest_possible(replay, {}, {}).bytes};
}

TEST(Unfolding, ABufferMayBeThereWhileAConvolutionRuns) {
  const double result = 4 * 2 * 8 * 100, gradient = 4 * 2 * 4 * 100, columns = 2 * (4 * 9) * 2 * 100;
  const Peaks peaks = convolved(3, true);
  EXPECT_NEAR(peaks.surely, result + gradient, 1);
  EXPECT_NEAR(peaks.perhaps, result + gradient + columns, 1);
}

TEST(Unfolding, TheGradientOfABiasIsAddedUpFromAFloat32Copy) {
  const Peaks peaks = convolved(1, true, traits_of("conv2d", true), true);
  EXPECT_NEAR(peaks.surely, 4 * 2 * (8 + 4) * 100, 1);
  EXPECT_NEAR(peaks.perhaps, peaks.surely + 4 * 2 * 8 * 100, 1);
  // Not at the same time as the buffer.
  EXPECT_EQ(convolved(3, true, traits_of("conv2d", true), true).perhaps, convolved(3, true).perhaps);
}

TEST(Unfolding, WhatCannotBeReadMayBeAConvolutionOfItsModule) {
  EXPECT_EQ(convolved(3, true, {.unread = true}).perhaps, convolved(3, true).perhaps);
  EXPECT_LT(convolved(3, true, {}).perhaps, convolved(3, true).perhaps);
}

TEST(Unfolding, NoneForSquaresOfOneAndOnDevices) {
  EXPECT_EQ(convolved(1, true).perhaps, convolved(1, true).surely);
  EXPECT_EQ(convolved(3, false).perhaps, convolved(3, false).surely);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
