// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/leaks/{autocast_cache,optimizer_references,parameter_state}.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using format::ReferenceRole;
using format::ReferenceRoot;
using format::TensorFlag;
using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;
using testing::TensorSpec;

constexpr uint32_t kTrained = uint32_t(TensorFlag::leaf) | uint32_t(TensorFlag::requires_grad);

struct Leaf {
  bool gradient = true, optimized = true, parameter = true;
  int8_t dtype = 6;
  uint64_t serial = 100;
  int64_t floats = 2048;
  uint64_t gradient_after = 500'000;  // serials
};

uint64_t leaf(Scene& scene, const std::string& text, const Leaf& what) {
  const uint32_t site = scene.site(3, "Net.__init__");
  const uint16_t itemsize = what.dtype == 6 ? 4 : 2;
  TensorSpec tensor = scene.plain(what.serial, what.floats * itemsize / 4, site);
  tensor.sizes = {what.floats};
  tensor.flags = kTrained;
  tensor.dtype = what.dtype;
  tensor.itemsize = itemsize;
  if (what.gradient) {
    TensorSpec gradient = scene.plain(what.serial + what.gradient_after, what.floats, site);
    scene.add(gradient);
    tensor.grad = gradient.address;
  }
  const uint64_t serial = scene.add(tensor);
  scene.held(serial, text, ReferenceRoot::global, what.parameter ? ReferenceRole::parameter : ReferenceRole::plain);
  scene.object(serial, what.optimized, what.parameter);
  return serial;
}

constexpr int64_t kManyFloats = 16 << 10;

// Whose they are; they stay as large as they are, so that they are no findings.
std::vector<std::string> strays(const Dumps& run) {
  std::vector<std::string> holders;
  for (const Remark& remark : run.leaks.remarks) {
    if (remark.what.kind == LeakKind::stray_leaf && remark.reason == Remark::Reason::does_not_grow)
      holders.push_back(remark.what.holders.at(0));
  }
  return holders;
}

TEST(StrayLeaves, AParameterWithGradientThatNoOptimizerHas) {
  Dumps run(
      [](Scene& scene) {
        leaf(scene, "model.weight", {});
        leaf(scene, "model.scale", {.optimized = false, .serial = 200, .floats = kManyFloats});
      },
      {1});
  EXPECT_THAT(run.kinds(), ElementsAre());
  EXPECT_THAT(strays(run), ElementsAre("model.scale"));
  Dumps little(
      [](Scene& scene) {
        leaf(scene, "model.weight", {});
        leaf(scene, "model.scale", {.optimized = false, .serial = 200, .floats = 64});
      },
      {1});
  EXPECT_THAT(strays(little), ElementsAre());
}

// What a compiler keeps as an example of a parameter has no memory, and so has its gradient.
TEST(StrayLeaves, OfNoMemoryAreNone) {
  Dumps run(
      [](Scene& scene) {
        leaf(scene, "model.weight", {});
        TensorSpec fake = scene.plain(200, kManyFloats, scene.site(3));
        fake.storage_base = 0;
        fake.flags = kTrained;
        fake.grad = Scene::address(100);
        const uint64_t serial = scene.add(fake);
        scene.held(serial, "graph.meta['example_value']");
        scene.object(serial, false, true);
      },
      {1});
  EXPECT_THAT(strays(run), ElementsAre());
}

TEST(StrayLeaves, WithoutAnOptimizerNothingIsStray) {
  EXPECT_THAT(strays(Dumps([](Scene& scene) { leaf(scene, "model.weight", {.optimized = false}); }, {1})),
              ElementsAre());
}

TEST(StrayLeaves, FrozenOnesHaveNoGradient) {
  Dumps run(
      [](Scene& scene) {
        leaf(scene, "model.weight", {});
        leaf(scene, "model.frozen", {.gradient = false, .optimized = false, .serial = 200, .floats = kManyFloats});
      },
      {1});
  EXPECT_THAT(strays(run), ElementsAre());
}

TEST(StrayLeaves, APlainLeafHasToOutliveAStep) {
  auto input = [](uint64_t serial, bool new_each_step) {
    return [=](Scene& scene) {
      leaf(scene, "model.weight", {});
      const uint64_t state = scene.kept(400, 2048, scene.site(4), "SGD.state['weight'].momentum_buffer");
      scene.held(state, "SGD.state['weight'].momentum_buffer", ReferenceRoot::global, ReferenceRole::optimizer_state);
      const uint64_t at = new_each_step ? testing::serial_at(scene.steps(), 1) : serial;
      leaf(scene, "x", {.optimized = false, .parameter = false, .serial = at, .floats = kManyFloats});
    };
  };
  EXPECT_THAT(strays(Dumps(input(0, true), {1})), ElementsAre());
  EXPECT_THAT(strays(Dumps(input(0, true), {1, 2})), ElementsAre());
  EXPECT_THAT(strays(Dumps(input(200, false), {1})), ElementsAre("train.py: x"));
  EXPECT_THAT(strays(Dumps(input(900, false), {1, 2})), ElementsAre("train.py: x"));
}

TEST(StrayLeaves, AnOptimizersCopyInAnotherDtypeCounts) {
  Dumps run(
      [](Scene& scene) {
        leaf(scene, "model.weight", {.optimized = false, .dtype = 15});
        leaf(scene, "master", {.gradient = false, .parameter = false, .serial = 200});
      },
      {1});
  EXPECT_THAT(run.kinds(), ElementsAre());
}

// A parameter in each step that only an optimizer refers to.
void only_in_optimizers(Scene& scene, const std::function<std::string(int step)>& text) {
  for (int step = 1; step <= scene.steps(); ++step) {
    leaf(scene, text(step), {.gradient = false, .serial = testing::serial_at(step, 10)});
  }
}

TEST(GoneParameters, ThatOneOptimizerKeeps) {
  Dumps run([](Scene& scene) {
    only_in_optimizers(scene, [](int step) { return "Adam.param_groups[" + std::to_string(step) + "]['params'][0]"; });
  });
  ASSERT_THAT(run.kinds(), ElementsAre("gone-parameters"));
  EXPECT_EQ(run.only().holders.at(0), "Adam");
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
}

// No step comes to them, so that nothing needs to grow.
TEST(GoneParameters, ThatAreInNoGroupAreFoundInOneDump) {
  const auto left = [](bool in_a_group, bool in_use) {
    return Dumps(
        [=](Scene& scene) {
          only_in_optimizers(scene, [](int) { return "Adam.state (key)"; });
          for (int step = 1; step <= scene.steps(); ++step) {
            const uint64_t parameter = testing::serial_at(step, 10) + 1;
            const uint64_t state = scene.add(scene.plain(testing::serial_at(step, 20), 2048, scene.site(9)));
            scene.held(state, "Adam.state['Adam.state (key)']['exp_avg']", ReferenceRoot::global,
                       format::ReferenceRole::optimizer_state);
            scene.object(state);
            if (in_a_group) scene.held(parameter, "Adam.param_groups[0]['params'][" + std::to_string(step) + "]");
            if (in_use) scene.held(parameter, "model.layers." + std::to_string(step) + ".weight");
          }
        },
        {20});
  };
  Dumps run = left(false, false);
  ASSERT_THAT(run.kinds(), ElementsAre("gone-parameters"));
  EXPECT_EQ(run.only().bytes, 20u * 2 * 8192);
  EXPECT_THAT(left(true, false).kinds(), ElementsAre());
  EXPECT_THAT(left(false, true).kinds(), ElementsAre());
}

TEST(GoneParameters, OfMoreAndMoreOptimizersAreTheirContainer) {
  Dumps run([](Scene& scene) {
    only_in_optimizers(scene,
                       [](int step) { return "trials[" + std::to_string(step) + "].param_groups[0]['params'][0]"; });
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().bytes, 30u * 8192);
}

TEST(TwoDtypes, TheSamePathInTwoModels) {
  Dumps run(
      [](Scene& scene) {
        leaf(scene, "model.fc1.weight", {.gradient = false});
        leaf(scene, "half.fc1.weight", {.gradient = false, .dtype = 15, .serial = 200});
      },
      {1});
  ASSERT_THAT(run.kinds(), ElementsAre("two-dtypes"));
  const DtypePair& pair = run.only().pairs.at(0);
  EXPECT_EQ(pair.parameter + " " + pair.parameter_dtype, "model.fc1.weight float32");
  EXPECT_EQ(pair.copy + " " + pair.copy_dtype, "half.fc1.weight bfloat16");
  EXPECT_EQ(run.only().bytes, 4096u);
}

TEST(TwoDtypes, ADictionaryOfCopies) {
  Dumps run(
      [](Scene& scene) {
        leaf(scene, "model.fc1.weight", {.gradient = false, .dtype = 15});
        scene.kept(200, 2048, scene.site(4), "master['fc1.weight']");
      },
      {1});
  EXPECT_THAT(run.kinds(), ElementsAre("two-dtypes"));
}

TEST(TwoDtypes, OneForEachParameterInOrder) {
  Dumps run(
      [](Scene& scene) {
        for (int i = 0; i < 3; ++i) {
          leaf(scene, "model." + std::to_string(i),
               {.gradient = false, .dtype = 15, .serial = uint64_t(i) * 10 + 100, .floats = 2048 + i});
          scene.kept(200 + uint64_t(i) * 10, 2048 + i, scene.site(4), "master[" + std::to_string(i) + "]");
        }
      },
      {1});
  EXPECT_THAT(run.kinds(), ElementsAre("two-dtypes"));
}

TEST(TwoDtypes, OptimizerStateAndOtherShapesAreNone) {
  Dumps run(
      [](Scene& scene) {
        leaf(scene, "model.fc1.weight", {.gradient = false, .dtype = 15});
        const uint64_t state = scene.add(scene.plain(200, 2048, scene.site(4)));
        scene.held(state, "Adam.state['fc1.weight'].exp_avg", ReferenceRoot::global, ReferenceRole::optimizer_state);
        scene.object(state);
        scene.kept(300, 4096, scene.site(4), "other['fc1.weight']");
        scene.kept(400, 2048, scene.site(4), "hidden");
      },
      {1});
  EXPECT_THAT(run.kinds(), ElementsAre());
}

// Autocast's copy for one step; it is a finding only where somebody keeps it.
void cast_copy(Scene& scene, bool held) {
  const uint64_t weight = leaf(scene, "model.weight", {.gradient = false});
  const uint32_t accumulate = scene.builder.graph_node({.class_name = testing::kAccumulate,
                                                        .address = 0x500000000000,
                                                        .flags = uint8_t(format::GraphNodeFlag::accumulates)});
  testing::SavedSpec slot;
  slot.tensor = weight;
  scene.builder.saved(accumulate, slot);
  const uint32_t cast = scene.node(testing::serial_at(scene.steps(), 1), testing::kToCopy, {accumulate});
  TensorSpec copy = scene.plain(testing::serial_at(scene.steps(), 3), 2048, scene.site(4));
  copy.dtype = 15;
  copy.itemsize = 2;
  copy.grad_fn = scene.builder.graph_address(cast);
  const uint64_t serial = scene.add(copy);
  if (held) scene.held(serial, "kept");
}

TEST(TwoDtypes, ACastThatIsKept) {
  EXPECT_THAT(Dumps([](Scene& scene) { cast_copy(scene, true); }, {1}).kinds(), ElementsAre("two-dtypes"));
  EXPECT_THAT(Dumps([](Scene& scene) { cast_copy(scene, false); }, {1}).kinds(), ElementsAre());
  EXPECT_THAT(Dumps([](Scene& scene) { cast_copy(scene, false); }, {1, 2}).kinds(), ElementsAre());
}

// What a parameter in a group refers to is no parameter: a list of gradients by sample, which is never emptied.
TEST(GoneParameters, WhatAParameterRefersToIsAContainer) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(testing::serial_at(step, 10), 2048, scene.site(3),
                 "SGD.param_groups[0]['params'][1].grad_sample[" + std::to_string(step) + "]");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: SGD.param_groups[0]['params'][1].grad_sample[1..30]");
}

// A model of one step whose cast only C++ holds: the node of the cast keeps its weight, and that its gradient.
void cast_of_a_step(Scene& scene, int step) {
  TensorSpec gradient = scene.plain(testing::serial_at(step, 20), 2048, scene.site(5));
  scene.add(gradient);
  TensorSpec weight = scene.plain(testing::serial_at(step, 1), 2048, scene.site(3));
  weight.flags = kTrained;
  weight.grad = gradient.address;
  const uint64_t leaf = scene.add(weight);
  const uint32_t accumulate = scene.builder.graph_node({.class_name = testing::kAccumulate,
                                                        .address = 0x500000000000 + uint64_t(step) * 512,
                                                        .flags = uint8_t(format::GraphNodeFlag::accumulates)});
  testing::SavedSpec slot;
  slot.tensor = leaf;
  scene.builder.saved(accumulate, slot);
  const uint32_t cast = scene.node(testing::serial_at(step, 8), testing::kToCopy, {accumulate});
  TensorSpec copy = scene.plain(testing::serial_at(step, 10), 1024, scene.site(4));
  copy.grad_fn = scene.builder.graph_address(cast);
  scene.add(copy);
}

TEST(AutocastCache, CastsOfEveryStepThatOnlyCppHolds) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) cast_of_a_step(scene, step);
  });
  ASSERT_THAT(run.kinds(), ElementsAre("autocast-cache"));
  EXPECT_EQ(run.only().bytes, 30u * (4096 + 8192 + 8192));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  // Those of the step that runs.
  EXPECT_THAT(Dumps([](Scene& scene) { cast_of_a_step(scene, scene.steps()); }).kinds(), ElementsAre());
}

// A parameter in a group with its gradient, and so many tensors of state that steps have made for it.
void trained_with_state(Scene& scene, int number, int tensors) {
  const std::string name = "layers." + std::to_string(number) + ".weight";
  leaf(scene, name, {.serial = testing::serial_at(1 + number, 500), .gradient_after = 5});
  for (int i = 0; i < tensors; ++i) {
    const uint64_t made = testing::serial_at(1 + number + i, 10 * (number + 1));
    scene.kept(made, 2048, scene.site(9), "", ReferenceRoot::user);
    scene.held(made + 1, "Adam.state['" + name + "'].kept[" + std::to_string(i) + "]", ReferenceRoot::global,
               ReferenceRole::optimizer_state);
  }
}

TEST(OptimizerState, ThatFollowsTheParametersIsNoFinding) {
  Dumps run([](Scene& scene) {
    for (int number = 0; number < scene.steps(); ++number) trained_with_state(scene, number, 2);
  });
  EXPECT_EQ(std::ranges::count(run.kinds(), "container"), 1);  // the layers
  EXPECT_THAT(run.only().holders.at(0), ::testing::HasSubstr("layers.*.weight"));
  ASSERT_EQ(run.leaks.remarks.size(), 1u);
  EXPECT_EQ(run.leaks.remarks[0].reason, Remark::Reason::follows_parameters);
  EXPECT_EQ(run.leaks.remarks[0].what.growth.count, (std::vector<uint64_t>{30, 60, 90}));
  for (const GrownPlace& grown : run.leaks.places) EXPECT_FALSE(grown.counts && grown.finding == kNone);
}

// Optimizers are kept, and with them their parameters and state: no remark hides that.
TEST(OptimizerState, OfOptimizersThatPileUpIsAFinding) {
  Dumps run([](Scene& scene) {
    for (int number = 0; number < scene.steps(); ++number) {
      const std::string optimizer = "kept[" + std::to_string(number) + "]", key = optimizer + ".state (key)";
      leaf(scene, key, {.parameter = false, .serial = testing::serial_at(1 + number, 500), .gradient_after = 5});
      const uint64_t made = testing::serial_at(1 + number, 10);
      scene.kept(made, 4096, scene.site(9), "", ReferenceRoot::user);
      scene.held(made + 1, optimizer + ".state['" + key + "'].exp_avg", ReferenceRoot::global,
                 ReferenceRole::optimizer_state);
    }
  });
  ASSERT_EQ(run.leaks.findings.size(), 1u);
  EXPECT_THAT(run.only().holders.at(0), ::testing::HasSubstr("kept["));
  EXPECT_TRUE(run.leaks.remarks.empty());
}

// Trials whose models are kept somewhere else than their optimizers: not one optimizer with more and more parameters.
TEST(OptimizerState, OfOptimizersOfModelsThatPileUpIsAFinding) {
  Dumps run([](Scene& scene) {
    for (int number = 0; number < scene.steps(); ++number) {
      const std::string trial = std::to_string(number), name = "models[" + trial + "].weight";
      const std::string optimizer = "optimizers[" + trial + "]";
      const uint64_t parameter =
          leaf(scene, name, {.serial = testing::serial_at(1 + number, 500), .gradient_after = 5});
      scene.held(parameter, optimizer + ".param_groups[0]['params'][0]", ReferenceRoot::global);
      const uint64_t made = testing::serial_at(1 + number, 10);
      scene.kept(made, 8192, scene.site(9), "", ReferenceRoot::user);
      scene.held(made + 1, optimizer + ".state['" + name + "'].exp_avg", ReferenceRoot::global,
                 ReferenceRole::optimizer_state);
    }
  });
  EXPECT_TRUE(run.leaks.remarks.empty());
  ASSERT_FALSE(run.leaks.findings.empty());
  EXPECT_EQ(run.only().holders.at(0), "train.py: optimizers[0..29]");
  EXPECT_GE(run.leaks.growth.rest(), 0);
}

// A neuron that a class remembers keeps, by the graph of its state, the weights of its network.
TEST(StrayLeaves, LeavesThatAGrowingContainersGraphsKeepAreThatContainers) {
  Dumps run([](Scene& scene) {
    leaf(scene, "model.weight", {.gradient_after = 5});
    for (int step = 1; step <= scene.steps(); ++step) {
      TensorSpec weight = scene.plain(testing::serial_at(step, 10), 2048, scene.site(3));
      weight.flags = kTrained;
      TensorSpec gradient = scene.plain(testing::serial_at(step, 20), 2048, scene.site(3));
      scene.add(gradient);
      weight.grad = gradient.address;
      const uint64_t made = scene.add(weight);
      const uint32_t accumulate = scene.node(testing::serial_at(step, 30), testing::kAccumulate);
      scene.builder.saved(accumulate, {.tensor = made});
      scene.object(made, /*optimized=*/false, /*trained=*/true, format::WrapperState::kept_by_cpp);
      TensorSpec state = scene.plain(testing::serial_at(step, 40), 8192, scene.site(5));
      state.grad_fn =
          scene.builder.graph_address(scene.node(testing::serial_at(step, 50), testing::kTanh, {accumulate}));
      state.grad_fn_name = testing::kTanh;
      const uint64_t memory = scene.add(state);
      scene.held(memory, "Neuron.instances[" + std::to_string(step) + "].mem", ReferenceRoot::class_);
      scene.object(memory);
    }
  });
  ASSERT_EQ(run.leaks.findings.size(), 1u);
  EXPECT_THAT(run.only().holders.at(0), ::testing::HasSubstr("Neuron.instances"));
}

TEST(OptimizerState, OfOneParameterThatGrowsIsAFinding) {
  Dumps run([](Scene& scene) { trained_with_state(scene, 0, scene.steps()); });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_THAT(run.only().holders.at(0), ::testing::HasSubstr("Adam.state['layers.0.weight'].kept"));
}

}  // namespace
}  // namespace tensorscope::analyzer
