// SPDX-License-Identifier: Apache-2.0
#include "forecast/matching.h"

#include <gtest/gtest.h>

#include "run_scene.h"

namespace tensorscope::analyzer::forecast {

namespace {

const std::vector<Size> kTwoBatches = {{"batch", {8, 16}}};

// A weight, what each of two layers made at one line saves, and a buffer that has no shape.
RunScene layers(int64_t batch) {
  RunScene scene;
  scene.make(1, {100, 10});
  scene.make(2, {batch, 10});
  scene.make(2, {batch, 30});
  scene.make_bytes(3, 512);
  return scene;
}

TEST(Matching, BlocksOfOneSiteInTheirOrder) {
  const std::vector<Sample> samples = samples_of(layers(8), layers(16));
  const size_t base = base_of(samples, kTwoBatches);
  ASSERT_EQ(base, 1u);
  const Matched matched = match_blocks(samples, kTwoBatches, base);
  const auto bytes = [&](size_t block) { return matched.growths[matched.growth[block]].bytes({64}); };
  EXPECT_EQ(bytes(0), 4000);
  EXPECT_EQ(bytes(1), 64 * 10 * 4);
  EXPECT_EQ(bytes(2), 64 * 30 * 4);
  EXPECT_EQ(bytes(3), 512);
  EXPECT_EQ(matched_at_peak(samples, matched, base), samples[base].peak);
}

// As many blocks at one line as the size says, all alive together; and as many that come and go one by one.
RunScene loop(int64_t length) {
  RunScene scene;
  for (int64_t i = 0; i < length; ++i) {
    const uint32_t passing = scene.make(5, {1000});
    scene.make(4, {100});
    scene.free(passing);
  }
  return scene;
}

TEST(Matching, ALoopOverTheSizeGrowsAsWhatIsAliveAtOnce) {
  const std::vector<Sample> samples = samples_of(loop(8), loop(16));
  const Matched matched = match_blocks(samples, kTwoBatches, 1);
  double kept = 0, passing = 0;
  for (size_t i = 0; i < samples[1].blocks.size(); ++i) {
    const double bytes = matched.growths[matched.growth[i]].bytes({64}) * matched.share[i];
    (samples[1].blocks[i].key == 4 ? kept : passing) += bytes;
  }
  EXPECT_DOUBLE_EQ(kept, 64 * 400);
  EXPECT_DOUBLE_EQ(passing, 16 * 4000);  // one at a time, as before
}

// Two addresses that may be one function.
TEST(Matching, ByWhatCanBeReadOfStacks) {
  const std::vector<Sample> samples = [] {
    std::vector<Sample> both = samples_of(layers(8), layers(16));
    Block &small = both[0].blocks[1], &large = both[1].blocks[1];
    small.key = small.kind = small.coarse = 5;
    large.key = large.kind = large.coarse = 6;
    return both;
  }();
  const auto basis = [&](const Matched& matched) { return matched.growths[matched.growth[1]].basis(); };
  EXPECT_EQ(basis(match_blocks(samples, kTwoBatches, 1, &Block::key)), Basis::not_matched);
  EXPECT_EQ(basis(match_blocks(samples, kTwoBatches, 1, &Block::read_key)), Basis::shape);
}

TEST(Matching, OtherStacksOfOneLineAreTheSame) {
  RunScene small, large;
  small.make(1, {8, 10});
  large.make(2, {16, 10});
  small.sample.blocks[0].coarse = large.sample.blocks[0].coarse = 9;
  const std::vector<Sample> samples = samples_of(small, large);
  const Matched matched = match_blocks(samples, kTwoBatches, 1);
  EXPECT_EQ(matched.growths[matched.growth[0]].bytes({64}), 64 * 40);
}

// A library convolves a batch of one with a buffer: as many blocks at the line as of the other size have no meaning.
TEST(Matching, OtherStacksOfOneLineAreMatchedByTypeAndDimensionsFirst) {
  RunScene small, large;
  small.make(1, {1, 16, 30});
  small.make(2, {1, 10});
  large.make(3, {2, 10});
  for (RunScene* scene : {&small, &large}) {
    for (Block& block : scene->sample.blocks) {
      block.coarse = 9;
      block.kind = 10 + block.ndim;
    }
  }
  const std::vector<Sample> samples = samples_of(small, large);
  const Matched matched = match_blocks(samples, {{"batch", {1, 2}}}, 1);
  EXPECT_EQ(matched.growths[matched.growth[0]].basis(), Basis::shape);
  EXPECT_EQ(matched.growths[matched.growth[0]].bytes({8}), 8 * 40);
}

TEST(Matching, TheLargestInputStandsForTheProgramWhateverItsPeak) {
  RunScene small;
  small.make(1, {1000});
  RunScene large;
  large.make(2, {10});
  EXPECT_EQ(base_of(samples_of(small, large), {{"batch", {1, 2}}}), 1u);
  EXPECT_EQ(base_of(samples_of(small, large), {}), 0u);
}

TEST(Matching, WhatHasNoCounterpartIsSaid) {
  RunScene large = layers(16);
  large.make_bytes(7, 100'000);
  const std::vector<Sample> samples = samples_of(layers(8), large);
  const Matched matched = match_blocks(samples, kTwoBatches, 1);
  const Growth& growth = matched.growths[matched.growth[4]];
  EXPECT_EQ(growth.basis(), Basis::not_matched);
  EXPECT_EQ(growth.bytes({64}), 100'000);
  EXPECT_EQ(growth.spread({64}, {16}), 300'000);
  EXPECT_EQ(matched_at_peak(samples, matched, 1), samples[1].peak - 100'000);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
