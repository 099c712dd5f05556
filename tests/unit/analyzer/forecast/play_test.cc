#include "forecast/play.h"

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

TEST(Play, ThePeakMoves) {
  const std::vector<Sample> samples = samples_of(forward_and_step(1), forward_and_step(2));
  const Play play = play_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(peak(play, {2}).bytes, 4000);
  EXPECT_EQ(peak(play, {2}).change, 2u);
  EXPECT_EQ(peak(play, {64}).bytes, 64 * 400);
  EXPECT_EQ(peak(play, {64}).change, 0u);
  const std::vector<LivePiece> live = live_after(play, 0, {64});
  ASSERT_EQ(live.size(), 1u);
  EXPECT_EQ(live[0].bytes, 64 * 400);
}

TEST(Play, TheFirstOverTheLimit) {
  const std::vector<Sample> samples = samples_of(forward_and_step(1), forward_and_step(2));
  const Play play = play_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(first_over(play, {64}, 20'000), 0u);
  EXPECT_EQ(first_over(play, {2}, 3'999), 2u);
  EXPECT_EQ(first_over(play, {2}, 4'000), play.changes.size());
}

TEST(Play, TheErrorIsThatOfWhatIsAlive) {
  RunScene small = forward_and_step(1), large = forward_and_step(2);
  small.make_bytes(3, 1000);
  large.make_bytes(3, 1500);
  const std::vector<Sample> samples = samples_of(small, large);
  const Play play = play_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(spread_after(play, 0, {4}, {2}), 0);
  EXPECT_EQ(spread_after(play, 4, {4}, {2}), 500);
  EXPECT_EQ(highest_possible(play, {64}, {2}).change, 4u);  // the line may be steeper than two inputs say
  EXPECT_EQ(peak(play, {64}).change, 4u);
}

TEST(Play, WhatMayComeBesidesRaisesTheMostAlone) {
  const std::vector<Sample> samples = samples_of(forward_and_step(1), forward_and_step(2));
  Play play = play_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  const double known = peak(play, {2}).bytes;
  play.growths.push_back(Growth::constant(1000));
  play.pieces.push_back(perhaps({kNone, uint32_t(play.growths.size() - 1)}));
  play.changes.insert(play.changes.begin(), {uint32_t(play.pieces.size() - 1), true});
  EXPECT_NEAR(highest_possible(play, {2}, {2}).bytes, known + 1000, 1);
  EXPECT_NEAR(least_possible(play, {2}, {2}).bytes, known, 1);
  for (Piece& piece : play.pieces) piece.unsure = std::max(piece.unsure, 0.25);
  EXPECT_NEAR(highest_possible(play, {2}, {2}).bytes, 1.25 * known + 1000, 1);
  EXPECT_NEAR(least_possible(play, {2}, {2}).bytes, 0.75 * known, 1);
}

TEST(Play, WithoutWhatCudnnWorksIn) {
  RunScene small = forward_and_step(1), large = forward_and_step(2);
  for (RunScene* scene : {&small, &large}) {
    const uint32_t scratch = scene->make_bytes(3, scene == &small ? 3000 : 50'000);
    scene->sample.blocks[scratch].scratch = true;
    scene->free(scratch);
  }
  const std::vector<Sample> samples = samples_of(small, large);
  const Play play = play_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(peak(play, {2}).bytes, 50'000);
  EXPECT_EQ(peak(without_scratch(play), {2}).bytes, 4000);
  EXPECT_EQ(peak(without_scratch(play), {64}).bytes, 64 * 400);
}

TEST(Play, AWorkspaceOfOneInputAloneIsStillOne) {
  RunScene small = forward_and_step(1), large = forward_and_step(2);
  large.sample.blocks[large.make_bytes(3, 50'000)].scratch = true;
  const std::vector<Sample> samples = samples_of(small, large);
  const Play play = play_of(samples[1], match_blocks(samples, kOneAndTwo, 1));
  EXPECT_EQ(peak(without_scratch(play), {2}).bytes, 4000);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
