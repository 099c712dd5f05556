// SPDX-License-Identifier: Apache-2.0
// An optimizer's step that fails: what is offered, how much it gives, and that nothing is promised of the batch.
// Covers: analyzer/oom/step_remedies.cc
#include "oom/step_remedies.h"

#include <gtest/gtest.h>

#include "device_scene.h"

namespace tensorscope::analyzer::oom {
namespace {

using format::ReferenceRole;
using format::ReferenceRoot;
using testing::DeviceScene;
using testing::kMiB;
using testing::TensorSpec;
using testing::Told;

constexpr const char* kOptim = "/usr/lib/python3.11/site-packages/torch/optim/";

class StepScene : public DeviceScene {
 public:
  // Four parameters of 20 MiB, their gradients and two tensors of state for each. 60 MiB of temporaries are there.
  explicit StepScene(const std::string& function = "_multi_tensor_adam", const std::string& file = "adam.py") {
    const uint32_t step = builder.python({{"/home/user/train.py", "main", 7, true}, {kOptim + file, function, 500}});
    failure.site = builder.site(0, step);
    failure.requested = 20 * kMiB;
    segment();
    constexpr uint32_t kLeaf = uint32_t(format::TensorFlag::leaf);
    for (uint64_t i = 1; i <= 4; ++i) {
      TensorSpec weight, gradient;
      weight.flags = kLeaf | uint32_t(format::TensorFlag::requires_grad);
      gradient.flags = kLeaf;
      weight.dtype = gradient.dtype = kFloat32;
      weight.grad = gradient.address = 0xabc000 * i;
      tensor(20 * kMiB, 0, 0, gradient);
      held(tensor(20 * kMiB, 0, 0, weight), "model.weight", ReferenceRoot::global, ReferenceRole::parameter);
      for (int copy = 0; copy < 2; ++copy) {
        TensorSpec state;
        state.dtype = kFloat32;
        held(tensor(20 * kMiB, failure.site, 0, state), "optimizer.state", ReferenceRoot::global,
             ReferenceRole::optimizer_state);
      }
    }
    for (int i = 0; i < 3; ++i) {
      TensorSpec temporary;
      temporary.dtype = kFloat32;
      tensor(20 * kMiB, failure.site, 0, temporary);
    }
  }
  static constexpr int8_t kFloat32 = 6;
};

TEST(StepRemedies, NothingOfTheBatchIsPromised) {
  StepScene scene;
  const Told told(scene);
  EXPECT_TRUE(told.analysis.in_optimizer);
  EXPECT_EQ(told.remedy(RemedyKind::smaller_batch), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::lower_precision), nullptr);
}

TEST(StepRemedies, WhatIsStillHeldOfTheBatchCounts) {
  StepScene scene;
  const uint32_t site = scene.in_module("model.layers.0", 10);
  scene.saved(30 * kMiB, site, scene.node(site));
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::smaller_batch), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::smaller_batch)->bytes, 15 * kMiB);
}

TEST(StepRemedies, BytesOfEach) {
  StepScene scene;
  const Told told(scene);
  const auto bytes = [&](RemedyKind kind) { return told.remedy(kind) == nullptr ? 0 : told.remedy(kind)->bytes; };
  EXPECT_EQ(bytes(RemedyKind::optimizer_step), 20 * kMiB);  // a list of all four, but three of the largest
  EXPECT_EQ(bytes(RemedyKind::fused_step), 80 * kMiB);
  EXPECT_EQ(bytes(RemedyKind::step_in_backward), 160 * kMiB);
  EXPECT_EQ(told.remedy(RemedyKind::step_in_backward)->low, 0u);
  EXPECT_EQ(told.remedy(RemedyKind::optimizer_step)->low, 0u);  // of the 60 that are there
  EXPECT_EQ(told.remedy(RemedyKind::fused_step)->low, 60 * kMiB);
  EXPECT_EQ(bytes(RemedyKind::less_state), 240 * kMiB);
  EXPECT_EQ(told.remedy(RemedyKind::less_state)->low, 160 * kMiB);
  EXPECT_EQ(bytes(RemedyKind::sharded_state), 0u);  // one process
  for (const Remedy& remedy : told.analysis.remedies) EXPECT_EQ(remedy.fits, Fits::may) << name(remedy.kind);
}

TEST(StepRemedies, TheSameResultsInOneLineComeFirst) {
  StepScene scene;
  const Told told(scene);
  std::vector<RemedyKind> kinds;
  for (const Remedy& remedy : told.analysis.remedies) kinds.push_back(remedy.kind);
  const std::vector<RemedyKind> expected = {RemedyKind::fused_step, RemedyKind::optimizer_step,
                                            RemedyKind::step_in_backward, RemedyKind::less_state,
                                            RemedyKind::half_model};
  EXPECT_EQ(kinds, expected);
}

TEST(StepRemedies, SeveralRanksCanShareTheState) {
  StepScene scene;
  scene.builder.world_size = 4;
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::sharded_state);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 180 * kMiB);  // of 160 MiB of state and 80 of temporaries
  EXPECT_EQ(remedy->low, 105 * kMiB);    // of the 60 that are there; a parameter more is 60
  EXPECT_EQ(remedy->high, 240 * kMiB);

  StepScene one_by_one("_single_tensor_adam");
  one_by_one.builder.world_size = 4;
  EXPECT_EQ(Told(one_by_one).remedy(RemedyKind::sharded_state)->bytes, 120 * kMiB);

  StepScene sharded;
  sharded.builder.world_size = 4;
  sharded.builder.python(
      {{"/usr/lib/python3.11/site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_state.py", "_pre_forward", 9}});
  EXPECT_EQ(Told(sharded).remedy(RemedyKind::sharded_state), nullptr);

  StepScene without_launcher;
  without_launcher.builder.process_groups = {{"0", "", {0, 1, 2, 3}}, {"1", "", {0, 1}}};
  ASSERT_NE(Told(without_launcher).remedy(RemedyKind::sharded_state), nullptr);
  EXPECT_EQ(Told(without_launcher).remedy(RemedyKind::sharded_state)->count, 4u);
}

// SGD puts the momentum of a first step into its state when the step is done.
TEST(StepRemedies, MomentumOfAFirstStepIsNoTemporary) {
  StepScene scene("_multi_tensor_sgd", "sgd.py");
  TensorSpec momentum;
  momentum.dtype = StepScene::kFloat32;
  const uint64_t made = scene.tensor(20 * kMiB, scene.failure.site, 0, momentum);
  scene.builder.reference({made, "momentum_buffer_list[0]", "SGD.step", "list", ReferenceRoot::local});
  const Told told(scene);
  EXPECT_EQ(told.remedy(RemedyKind::fused_step)->low, 60 * kMiB);
  EXPECT_EQ(told.remedy(RemedyKind::less_state)->low, 180 * kMiB);
}

TEST(StepRemedies, OnlySomeOptimizersHaveAFusedKernel) {
  StepScene rmsprop("_multi_tensor_rmsprop", "rmsprop.py");
  EXPECT_EQ(Told(rmsprop).remedy(RemedyKind::fused_step), nullptr);
  StepScene old("_multi_tensor_sgd", "sgd.py");
  old.builder.torch_version = "2.2.1";
  EXPECT_EQ(Told(old).remedy(RemedyKind::fused_step), nullptr);
  StepScene recent("_multi_tensor_sgd", "sgd.py");
  EXPECT_NE(Told(recent).remedy(RemedyKind::fused_step), nullptr);
}

TEST(StepRemedies, OneParameterAfterTheOtherMakesFewTemporaries) {
  StepScene scene("_single_tensor_adam");
  const Told told(scene);
  EXPECT_EQ(told.remedy(RemedyKind::optimizer_step), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::fused_step), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::step_in_backward)->bytes, 80 * kMiB);
}

TEST(StepRemedies, MuchStateIsNamedWhereSomethingElseFails) {
  StepScene scene;
  scene.failure.site = scene.in_module("model", 10);
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::less_state), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::less_state)->bytes, 160 * kMiB);
  EXPECT_EQ(told.remedy(RemedyKind::step_in_backward), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::half_model), nullptr);
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
