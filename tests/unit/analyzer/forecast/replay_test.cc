// SPDX-License-Identifier: Apache-2.0
#include "forecast/replay.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run_scene.h"

namespace tensorscope::analyzer::forecast {

namespace {

const std::vector<Size> kOneAndTwo = {{"batch", {1, 2}}};

// The optimizer's step has the peak while batches are small, the forward pass when they are large.
RunScene forward_and_step(int64_t batch) {
  RunScene scene;
  const uint32_t activation = scene.make(1, {batch, 100});
  scene.free(activation);
  const uint32_t temporary = scene.make(2, {1000});
  scene.free(temporary);
  return scene;
}

TEST(Replay, ThePeakMoves) {
  const std::vector<Sample> samples = samples_of(forward_and_step(1), forward_and_step(2));
  const Replay replay = replay_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(peak(replay, {2}).bytes, 4000);
  EXPECT_EQ(peak(replay, {2}).change, 2u);
  EXPECT_EQ(peak(replay, {64}).bytes, 64 * 400);
  EXPECT_EQ(peak(replay, {64}).change, 0u);
  const std::vector<LiveBlock> live = live_after(replay, 0, {64});
  ASSERT_EQ(live.size(), 1u);
  EXPECT_EQ(live[0].bytes, 64 * 400);
}

TEST(Replay, TheFirstOverTheLimit) {
  const std::vector<Sample> samples = samples_of(forward_and_step(1), forward_and_step(2));
  const Replay replay = replay_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(first_over(replay, {64}, 20'000), 0u);
  EXPECT_EQ(first_over(replay, {2}, 3'999), 2u);
  EXPECT_EQ(first_over(replay, {2}, 4'000), replay.changes.size());
}

TEST(Replay, TheErrorIsThatOfWhatIsAlive) {
  RunScene small = forward_and_step(1), large = forward_and_step(2);
  small.make_bytes(3, 1000);
  large.make_bytes(3, 1500);
  const std::vector<Sample> samples = samples_of(small, large);
  const Replay replay = replay_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(spread_after(replay, 0, {4}, {2}), 0);
  EXPECT_EQ(spread_after(replay, 4, {4}, {2}), 500);
  EXPECT_EQ(highest_possible(replay, {64}, {2}).change, 4u);  // the line may be steeper than two inputs say
  EXPECT_EQ(peak(replay, {64}).change, 4u);
}

TEST(Replay, WhatMayComeBesidesRaisesTheMostAlone) {
  const std::vector<Sample> samples = samples_of(forward_and_step(1), forward_and_step(2));
  Replay replay = replay_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  const double known = peak(replay, {2}).bytes;
  replay.growths.push_back(Growth::constant(1000));
  replay.blocks.push_back(as_uncertainty({kNone, uint32_t(replay.growths.size() - 1)}));
  replay.changes.insert(replay.changes.begin(), {uint32_t(replay.blocks.size() - 1), true});
  EXPECT_NEAR(highest_possible(replay, {2}, {2}).bytes, known + 1000, 1);
  EXPECT_NEAR(least_possible(replay, {2}, {2}).bytes, known, 1);
  for (ReplayBlock& replay_block : replay.blocks) replay_block.unsure = std::max(replay_block.unsure, 0.25);
  EXPECT_NEAR(highest_possible(replay, {2}, {2}).bytes, 1.25 * known + 1000, 1);
  EXPECT_NEAR(least_possible(replay, {2}, {2}).bytes, 0.75 * known, 1);
}

TEST(Replay, WithoutWhatCudnnWorksIn) {
  RunScene small = forward_and_step(1), large = forward_and_step(2);
  for (RunScene* scene : {&small, &large}) {
    const uint32_t scratch = scene->make_bytes(3, scene == &small ? 3000 : 50'000);
    scene->sample.blocks[scratch].scratch = true;
    scene->free(scratch);
  }
  const std::vector<Sample> samples = samples_of(small, large);
  const Replay replay = replay_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(peak(replay, {2}).bytes, 50'000);
  EXPECT_EQ(peak(without_scratch(replay), {2}).bytes, 4000);
  EXPECT_EQ(peak(without_scratch(replay), {64}).bytes, 64 * 400);
}

TEST(Replay, AWorkspaceOfOneInputAloneIsStillOne) {
  RunScene small = forward_and_step(1), large = forward_and_step(2);
  large.sample.blocks[large.make_bytes(3, 50'000)].scratch = true;
  const std::vector<Sample> samples = samples_of(small, large);
  const Replay replay = replay_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(peak(without_scratch(replay), {2}).bytes, 4000);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
