// SPDX-License-Identifier: Apache-2.0
#include "forecast/byte_buffers.h"

#include <gtest/gtest.h>

#include "forecast/whatif/dtype.h"
#include "model_scene.h"

namespace tensorscope::analyzer::forecast {

namespace {

const std::vector<Size> kLength = {{"length", {32, 64}}};

// 1,000 bytes and 100 more for each step, which are made and freed again.
Replay buffer_of(ModelScene& scene) {
  scene.free(scene.forward("model.gru", {7400}));
  Replay replay = scene.replay();
  const std::vector<SeenBlock> seen = {{4200, {}, 0, 1}, {7400, {}, 0, 1}};
  replay.growths[0] = Growth(kLength, seen, 1, true);
  return replay;
}

Replay scaled(double least, double most) {
  ModelScene scene;
  Replay replay = buffer_of(scene);
  ReplayEdit edit;
  edit.start(replay);
  scale_what_grows(replay, edit, 0, 0, {.least = least, .most = most});
  edit.apply(replay);
  return replay;
}

TEST(ByteBuffers, WhatDoesNotGrowStays) {
  const Replay replay = scaled(0.5, 0.5);
  EXPECT_EQ(peak(replay, {128}).bytes, 1000 + 12800 / 2);
  EXPECT_TRUE(live_after(replay, replay.changes.size() - 1, {128}).empty());
}

TEST(ByteBuffers, WhereTheOperationIsNotKnownItMayBeEither) {
  Replay replay = scaled(0.5, 1);
  replay.growths[0] = Growth::constant(0);  // no replay block has it now
  EXPECT_EQ(peak(replay, {64}).bytes, 1000 + 0.75 * 6400);
  const double more = highest_possible(replay, {64}, {64}).bytes, less = least_possible(replay, {64}, {64}).bytes;
  EXPECT_NEAR(more, 1000 + 6400, 1);
  EXPECT_NEAR(less, 1000 + 6400 / 2, 1);
}

TEST(ByteBuffers, TensorsOfBytes) {
  ModelScene scene;
  scene.forward("model.gru", {7400});
  Block block = scene.base.blocks[0];
  EXPECT_FALSE(is_byte_buffer(block));
  block.dtype = rules::kUint8;
  EXPECT_TRUE(is_byte_buffer(block));
  block.ndim = 2;
  EXPECT_FALSE(is_byte_buffer(block));
}

// Of an LSTM: oneDNN keeps cells in float32, and without AVX-512 torch does not call it.
TEST(ByteBuffers, OnACpuWhatGrowsMayStayOrGo) {
  const auto peaks = [](bool cpu) {
    ModelScene scene;
    Replay replay = buffer_of(scene);
    scene.base.blocks[0].dtype = rules::kUint8;
    if (!cpu) scene.base.device.type = 1;
    Operations operations = operations_of(replay, scene.base);
    operations.all[0].traits = traits_of("mkldnn_rnn_layer", true);
    apply_dtype(replay, scene.base, operations);
    return std::pair(least_possible(replay, {64}, {64}).bytes, highest_possible(replay, {64}, {64}).bytes);
  };
  EXPECT_NEAR(peaks(true).first, 1000 + 640, 1);
  EXPECT_NEAR(peaks(true).second, 1000 + 6400, 1);
  EXPECT_NEAR(peaks(false).second, 1000 + 6400 / 2, 1);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
