// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/scenario.h"

#include <gtest/gtest.h>

#include "dump/reader.h"
#include "forecast/model_scene.h"

namespace tensorscope::analyzer::forecast {

namespace {

const Scenario kCheckpointed = {.checkpointed = {"model.layers.*"}};

Replay checkpointed(ModelScene& scene) {
  const Replay replay = scene.replay();
  return apply_scenario(replay, scene.base, kCheckpointed);
}

// How often a replay block is made and freed, and whether it is alive after a change of the base.
struct Life {
  int made = 0, freed = 0;
};
Life life_of(const Replay& replay, uint32_t replay_block) {
  Life life;
  for (const auto [one, made] : replay.changes) {
    if (one == replay_block) ++(made ? life.made : life.freed);
  }
  return life;
}

bool alive_before(const Replay& replay, uint32_t replay_block, uint32_t other) {
  bool alive = false;
  for (const auto [one, made] : replay.changes) {
    if (one == other && made) return alive;
    if (one == replay_block) alive = made;
  }
  return false;
}

// Saved: what is inside is freed before what follows, and made again for backward; the result stays.
TEST(Checkpointing, WhatAModuleSavesIsComputedAgain) {
  ModelScene scene;
  const uint32_t inside = scene.forward("model.layers.0", {100});
  const uint32_t result = scene.forward("model.layers.0", {10});
  const uint32_t head = scene.forward("model.head", {1});
  scene.backward(head, {1});
  const uint32_t of_result = scene.backward(result, {10});
  scene.free(result);
  scene.free(inside);
  const Replay replay = checkpointed(scene);
  EXPECT_FALSE(alive_before(replay, inside, head));
  EXPECT_TRUE(alive_before(replay, result, head));
  EXPECT_TRUE(alive_before(replay, inside, of_result));
  EXPECT_EQ(life_of(replay, inside).made, 2);
  EXPECT_EQ(life_of(replay, inside).freed, 2);
  EXPECT_EQ(life_of(replay, result).made, 1);
}

// A call inside frees what it made as it ends; what it returns is freed as the call around it ends.
TEST(Checkpointing, WhatAForwardPassSavesNotIsFreedAsTheCallsInItEnd) {
  ModelScene scene;
  const uint32_t inner = scene.forward("model.layers.0.attention", {100});
  const uint32_t returned = scene.forward("model.layers.0.attention", {100});
  const uint32_t next = scene.forward("model.layers.0.mlp", {100});
  const uint32_t outer = scene.forward("model.layers.0", {100});
  const uint32_t result = scene.forward("model.layers.0", {10});
  scene.backward(result, {10});
  for (const uint32_t block : {result, outer, next, returned, inner}) scene.free(block);
  const Replay replay = checkpointed(scene);
  EXPECT_TRUE(alive_before(replay, inner, returned));
  EXPECT_FALSE(alive_before(replay, inner, next));
  EXPECT_TRUE(alive_before(replay, returned, next));
  EXPECT_TRUE(alive_before(replay, returned, result));
}

TEST(Checkpointing, AnArgumentIsKeptUntilBackward) {
  const auto kept = [](const std::string& maker, bool used) {
    ModelScene scene;
    const uint32_t mask = scene.forward(maker, {50});
    if (used) scene.forward("model", {100});
    const uint32_t inside = scene.forward("model.layers.0", {100});
    const uint32_t result = scene.forward("model.layers.0", {10});
    const uint32_t head = scene.forward("model.head", {1});
    scene.free(mask);
    scene.backward(head, {1});
    const uint32_t of_result = scene.backward(result, {10});
    scene.free(inside);
    scene.forward("model.head", {1});
    const Replay replay = checkpointed(scene);
    EXPECT_EQ(life_of(replay, mask).freed, 1);
    return alive_before(replay, mask, of_result);
  };
  EXPECT_TRUE(kept("model", false));
  EXPECT_TRUE(kept("model", true));
  EXPECT_TRUE(kept("model.bias", false));
  EXPECT_FALSE(kept("model.bias", true));  // the sum is given to the layers
  EXPECT_FALSE(kept("other", false));
}

TEST(Checkpointing, APartOfAConcatenationIsNoArgument) {
  for (const int64_t channels : {16, 24}) {
    ModelScene scene;
    const uint32_t part = scene.forward("model", {2, 16, 4});
    scene.forward("model", {2, channels, 5 - (channels == 24)});
    const uint32_t inside = scene.forward("model.layers.0", {100});
    const uint32_t result = scene.forward("model.layers.0", {10});
    scene.free(part);
    const uint32_t head = scene.forward("model.head", {1});
    scene.backward(head, {1});
    scene.backward(result, {10});
    scene.free(inside);
    EXPECT_FALSE(alive_before(checkpointed(scene), part, head));
  }
}

// "x = x + f(x)": the graph saves no x, but the next layer is given it. Of a sum over layers it is not.
TEST(Checkpointing, AnOutputThatNothingSavesIsAnArgumentOfTheNext) {
  for (const bool summed : {false, true}) {
    ModelScene scene;
    const uint32_t inside = scene.forward("model.layers.0", {100});
    const uint32_t output = scene.forward("model.layers.0", {10});
    if (summed) scene.forward("model", {10});
    const uint32_t after = scene.forward("model.layers.1", {100});
    const uint32_t result = scene.forward("model.layers.1", {10});
    scene.free(output);
    const uint32_t head = scene.forward("model.head", {1});
    scene.backward(head, {1});
    const uint32_t of_result = scene.backward(result, {10});
    scene.free(after);
    scene.backward(inside, {10});
    scene.free(inside);
    const Replay replay = checkpointed(scene);
    EXPECT_EQ(alive_before(replay, output, of_result), !summed);
    EXPECT_EQ(alive_before(replay, inside, head), summed);  // else it stands for the output
    EXPECT_EQ(life_of(replay, output).freed, 1);
  }
}

// "total = total + result": the layer is not given the total.
TEST(Checkpointing, ASumThatItsLineReplacesIsNoArgument) {
  ModelScene scene;
  const uint32_t total = scene.forward("model", {100});
  const uint32_t inside = scene.forward("model.layers.0", {100});
  const uint32_t result = scene.forward("model.layers.0", {10});
  const uint32_t next = scene.forward("model", {100});
  scene.base.blocks[next].coarse = scene.base.blocks[total].coarse;
  scene.free(total);
  const uint32_t head = scene.forward("model.head", {1});
  scene.backward(head, {1});
  scene.backward(result, {10});
  scene.free(inside);
  const Replay replay = checkpointed(scene);
  EXPECT_FALSE(alive_before(replay, total, head));
}

// A local variable of forward is there until that returns, when it runs again as well.
TEST(Checkpointing, WhatIsFreedAsTheModuleReturnsIsThereWhenItIsComputedAgain) {
  ModelScene scene;
  const uint32_t local = scene.forward("model.layers.0", {100});
  const uint32_t inside = scene.forward("model.layers.0", {100});
  const uint32_t result = scene.forward("model.layers.0", {10});
  scene.free(local);
  const uint32_t head = scene.forward("model.head", {1});
  scene.backward(head, {1});
  scene.backward(result, {10});
  scene.free(inside);
  const Replay replay = checkpointed(scene);
  EXPECT_EQ(life_of(replay, local).made, 2);
  EXPECT_EQ(life_of(replay, local).freed, 2);
  EXPECT_FALSE(alive_before(replay, local, head));
}

// Autocast frees the result of the first layer, whose copy the second one saves.
TEST(Checkpointing, AResultWhoseCopyIsSavedIsKeptAndFreedOnce) {
  ModelScene scene;
  const uint32_t first = scene.forward("model.layers.0", {100});
  const uint32_t result = scene.forward("model.layers.0", {40});
  const uint32_t second = scene.forward("model.layers.1", {100});
  const uint32_t last = scene.forward("model.layers.1", {40});
  const uint32_t head = scene.forward("model.head", {1});
  scene.backward(head, {1});
  scene.backward(last, {40});
  const uint32_t of_second = scene.backward(second, {100});
  scene.free(second);
  const uint32_t of_first = scene.backward(first, {100});
  scene.free(first);
  Replay replay = scene.replay();
  replay.changes.insert(replay.changes.begin() + 3, {result, false});
  replay = apply_scenario(replay, scene.base, kCheckpointed);
  EXPECT_TRUE(alive_before(replay, result, of_second));
  EXPECT_FALSE(alive_before(replay, result, of_first));
  EXPECT_EQ(life_of(replay, result).made, 1);
  EXPECT_EQ(life_of(replay, result).freed, 1);
  EXPECT_EQ(life_of(replay, first).made, 2);
  for (double bytes : live_bytes(replay)) EXPECT_GE(bytes, 0);
}

TEST(Checkpointing, NoSuchModules) {
  ModelScene scene;
  scene.backward(scene.forward("model.head", {1}), {1});
  EXPECT_THROW(checkpointed(scene), BadInput);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
