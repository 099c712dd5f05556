// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/dtype.h"

#include <gtest/gtest.h>

#include "forecast/model_scene.h"

namespace tensorscope::analyzer::forecast {

namespace {

// The run in 16 bits; `math`: the operation that is a part of attention by its formula.
Replay half(ModelScene& scene, uint32_t math) {
  Replay replay = scene.replay();
  Operations operations = operations_of(replay, scene.base);
  operations.all[operations.of_replay_block[math]].traits.in_attention_math = true;
  apply_dtype(replay, scene.base, operations);
  return replay;
}

constexpr double kBytes = 4 * 2 * 8;  // of {2, 8} in float32

TEST(Precision, AttentionByItsFormulaSavesItsValuesInFloat32) {
  ModelScene scene;
  const uint32_t values = scene.forward("model.attention", {2, 8});
  const uint32_t query = scene.forward("model.attention", {2, 8});
  const uint32_t last = scene.forward("model", {1});
  scene.backward(query, {2, 8});
  scene.free(values);
  const Replay replay = half(scene, query);
  ASSERT_EQ(replay.blocks.size(), 5u);
  const ReplayBlock& copy = replay.blocks[4];
  EXPECT_EQ(replay.growths[copy.growth].bytes({}) * copy.factor, kBytes);
  // From there on it is saved in place of what it was made of.
  for (const LiveBlock& replay_block : live_after(replay, replay.changes.size() - 1, {}))
    EXPECT_NE(replay_block.replay_block, 4u);
  bool found = false, original = false;
  for (size_t i = 0; i < replay.changes.size(); ++i) {
    if (replay.changes[i].block != last || !replay.changes[i].made) continue;
    for (const LiveBlock& replay_block : live_after(replay, i, {})) {
      found = found || replay_block.replay_block == 4;
      original = original || replay_block.replay_block == values;
    }
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(original);
}

// As long as a cache holds the keys.
TEST(Precision, ValuesAreHeldAsLongAsKeysAre) {
  ModelScene scene;
  const uint32_t keys = scene.forward("model.attention", {2, 8});
  const uint32_t values = scene.forward("model.attention", {2, 8});
  const uint32_t query = scene.forward("model.attention", {2, 8});
  const uint32_t last = scene.forward("model", {1});
  scene.free(keys);
  scene.backward(query, {2, 8});
  scene.free(values);
  const Replay replay = half(scene, query);
  const auto change = [&](uint32_t replay_block, bool made) {
    return std::ranges::find_if(replay.changes,
                                [&](const Change& one) { return one.block == replay_block && one.made == made; });
  };
  EXPECT_LT(change(last, true), change(values, false));
  EXPECT_LT(change(values, false), change(keys, false));
}

// "scores = scores.float()" makes nothing in a float32 run: that may be there, and is not forecast.
TEST(Precision, ALossMayBeGivenACopyInFloat32) {
  ModelScene scene;
  scene.forward("model.head", {2, 8});
  const uint32_t result = scene.loss({2, 8});
  Replay replay = scene.replay();
  Operations operations = operations_of(replay, scene.base);
  operations.all[operations.of_replay_block[result]].traits = traits_of("log_softmax", true);
  apply_dtype(replay, scene.base, operations);
  // Scores and result have between half and all, since this run has no native stacks.
  EXPECT_NEAR(peak(replay, {}).bytes, 0.75 * kBytes + 0.75 * kBytes, 1);
  EXPECT_NEAR(highest_possible(replay, {}, {}).bytes, kBytes + kBytes + kBytes, 1);
  EXPECT_NEAR(least_possible(replay, {}, {}).bytes, kBytes / 2 + kBytes / 2, 1);
}

// Bytes that a loss and its scores surely have, and may have. `by`: the operation that makes the scores.
std::pair<double, double> of_loss(int32_t line, int32_t loss_line, const char* by) {
  ModelScene scene;
  scene.with_native_stacks();
  const auto [scores, loss] = scene.scores_and_loss({2, 8}, line, loss_line);
  Replay replay = scene.replay();
  Operations operations = operations_of(replay, scene.base);
  operations.all[operations.of_replay_block[scores]].traits = traits_of(by, true);
  operations.all[operations.of_replay_block[loss]].traits = traits_of("log_softmax", true);
  apply_dtype(replay, scene.base, operations);
  return {replay.blocks[loss].factor * kBytes, highest_possible(replay, {}, {}).bytes};
}

TEST(Precision, ALossHasTheTypeOfAProductOnItsLine) {
  EXPECT_EQ(of_loss(1, 1, "linear").first, kBytes / 2);
  const double copied = of_loss(1, 3, "linear").second - of_loss(1, 1, "linear").second;
  EXPECT_NEAR(copied, kBytes + kBytes / 2, 1);  // the copy of the scores, and the other half of the result
}

TEST(Precision, ALossMayHaveAnotherTypeThanItsScores) {
  EXPECT_EQ(of_loss(1, 3, "linear").first, 0.75 * kBytes);  // made on another line
  EXPECT_EQ(of_loss(2, 2, "linear").first, 0.75 * kBytes);  // the line casts
  EXPECT_EQ(of_loss(1, 1, "relu").first, 0.75 * kBytes);    // of what may be float32
}

// Bytes at the peak of the backward of an operation that makes `shape` in it.
double backward_peak(const char* name, bool cpu) {
  ModelScene scene;
  scene.with_native_stacks();
  const uint32_t result = scene.forward("model", {2});
  scene.free(scene.backward(result, {2}));  // of a view of it
  scene.backward(result, {2, 8});
  Replay replay = scene.replay();
  if (!cpu) scene.base.device.type = 1;
  Operations operations = operations_of(replay, scene.base);
  operations.all[0].traits = traits_of(name, cpu);
  apply_dtype(replay, scene.base, operations);
  return peak(replay, {}).bytes - 0.5 * 4 * 2;
}

TEST(Precision, GradientsOfWhatIsGatheredAreAddedUpInFloat32) {
  EXPECT_EQ(backward_peak("gather", true), kBytes / 2 + kBytes);
  EXPECT_EQ(backward_peak("gather", false), kBytes / 2);
  EXPECT_EQ(backward_peak("index_select", true), kBytes / 2);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
