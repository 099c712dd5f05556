// SPDX-License-Identifier: Apache-2.0
// Advice that was wrong when it was tried: what must not be promised, and what was never offered.
// Covers: analyzer/oom/{chains,running_code}.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_scene.h"
#include "oom/remedies.h"

namespace tensorscope::analyzer::oom {
namespace {

using format::ReferenceRoot;
using testing::DeviceScene;
using ::testing::HasSubstr;
using testing::kMiB;
using testing::Told;

TEST(Promises, ALivePrivatePoolGivesNothingBack) {
  DeviceScene scene;
  scene.segment(0, 3).piece(120 * kMiB);  // wholly free, and its CUDA graph or MemPool keeps it
  EXPECT_EQ(Told(scene).remedy(RemedyKind::empty_cache), nullptr);

  DeviceScene held;
  held.segment(0, 3);
  held.held(held.tensor(120 * kMiB), "pooled[0]");
  held.held(held.tensor(120 * kMiB), "pooled[1]");
  const Told told(held);
  ASSERT_NE(told.remedy(RemedyKind::drop_holder), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::drop_holder)->fits, Fits::no);
}

TEST(Promises, AfterAFailedRequestTheCacheWasEmptied) {
  DeviceScene scene;
  scene.memory.segments_from = format::SegmentSource::runtime_calls;  // pools are not known
  scene.segment().piece(120 * kMiB);
  EXPECT_EQ(Told(scene).remedy(RemedyKind::empty_cache), nullptr);
}

// 28 MiB of large blocks with the request and one small block need 60 + 2 MiB of pages; 60.5 are in segments.
DeviceScene in_fifteens(uint64_t driver_free) {
  DeviceScene scene;
  scene.failure.requested = 15 * kMiB;
  scene.memory.driver_free = driver_free;
  for (int i = 0; i < 4; i++) {
    scene.segment().block(7 * kMiB);
    scene.piece(8 * kMiB);
  }
  scene.segment(0, 0, uint8_t(format::SegmentFlag::small)).block(kMiB / 2);
  return scene;
}

TEST(Promises, ExpandableSegmentsNeedWholePages) {
  DeviceScene too_little = in_fifteens(kMiB), enough = in_fifteens(2 * kMiB);
  EXPECT_EQ(Told(too_little).remedy(RemedyKind::expandable_segments), nullptr);
  EXPECT_NE(Told(enough).remedy(RemedyKind::expandable_segments), nullptr);
}

TEST(Promises, PiecesInTwoSegmentsAreNoPlaceForARequest) {
  DeviceScene scene;
  for (int i = 0; i < 2; i++) {
    scene.segment();
    scene.held(scene.tensor(60 * kMiB), "history[" + std::to_string(i) + "]");
    scene.block(kMiB);
  }
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::drop_holder), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::drop_holder)->fits, Fits::no);
}

TEST(Promises, UnderAMemoryFractionTheLimitComesFirst) {
  DeviceScene scene;
  scene.memory.driver_free = 500 * kMiB;
  scene.memory.processes = {{991, 300 * kMiB}};
  scene.segment();
  for (int i = 0; i < 2; i++) scene.held(scene.tensor(45 * kMiB), "history[" + std::to_string(i) + "]");
  scene.block(kMiB);
  const Told told(scene);
  ASSERT_FALSE(told.analysis.remedies.empty());
  EXPECT_EQ(told.analysis.remedies.front().kind, RemedyKind::process_limit);
  EXPECT_EQ(told.remedy(RemedyKind::other_process), nullptr);
  EXPECT_NE(told.remedy(RemedyKind::drop_holder)->fits, Fits::yes);  // what the driver has free is not for it
}

TEST(Promises, NothingHelpsARequestThatIsLargerThanTheDevice) {
  DeviceScene scene;
  scene.failure.requested = 2000 * kMiB;
  scene.segment();
  scene.held(scene.tensor(500 * kMiB), "history[0]");
  const Told told(scene);
  EXPECT_TRUE(told.analysis.too_large);
  EXPECT_TRUE(told.analysis.remedies.empty());
}

// Two layers; the second one runs when memory runs out.
DeviceScene in_flight(const std::string& module) {
  DeviceScene scene;
  scene.segment();
  for (int i = 0; i < 2; i++) {
    const uint32_t site = scene.in_module("model.layers." + std::to_string(i), 10 + i);
    scene.saved(60 * kMiB, site, scene.node(site));
  }
  scene.failure.site = scene.in_module(module, 30);
  return scene;
}

TEST(Promises, AModuleInFlightIsNotCheckpointed) {
  DeviceScene scene = in_flight("model.layers.1");
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::checkpoint), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::checkpoint)->stays, 60 * kMiB);

  DeviceScene alone;
  alone.segment();
  const uint32_t body = alone.in_module("model.body", 10), head = alone.in_module("model.head", 11);
  alone.saved(60 * kMiB, body, alone.node(body));
  alone.saved(120 * kMiB, head, alone.node(head));
  alone.failure.site = body;
  EXPECT_EQ(Told(alone).remedy(RemedyKind::checkpoint)->names.at(0), "model.head");
}

TEST(Promises, OneLossInTwoListsIsFreedWithBoth) {
  DeviceScene scene;
  scene.segment();
  for (int i = 0; i < 3; i++) {
    const uint64_t tensor = scene.tensor(40 * kMiB);
    scene.held(tensor, "history[" + std::to_string(i) + "]");
    scene.builder.reference({tensor, "self.losses[" + std::to_string(i) + "]", "train.py", "list"});
  }
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::drop_holder);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 120 * kMiB);
  ASSERT_EQ(remedy->names.size(), 2u);
  const std::string names = remedy->names[0] + remedy->names[1];
  EXPECT_THAT(names, HasSubstr("history[0..2]"));
  EXPECT_THAT(names, HasSubstr("self.losses[0..2]"));
}

// total += loss, three times; each loss leads to 30 MiB.
TEST(Promises, ASumKeepsTheGraphOfItsLastValueToo) {
  DeviceScene scene;
  scene.segment();
  const uint32_t forward = scene.in_module("model", 10);
  const uint32_t line = scene.builder.site(0, scene.builder.python({{"/home/user/train.py", "main", 9, true}}));
  testing::GraphNodeSpec sum;
  uint32_t last = UINT32_MAX;
  for (int i = 0; i < 3; i++) {
    const uint32_t loss = scene.node(forward);
    scene.saved(30 * kMiB, forward, loss);
    sum.class_name = "N5torch8autograd9generated12AddBackward0E";
    sum.address = 0x650000000000 + uint64_t(i) * 512;
    sum.serial = scene.builder.node(sum.address, sum.class_name, line);
    sum.edges = {{loss, 0}};
    if (last != UINT32_MAX) sum.edges.push_back({last, 0});
    last = scene.builder.graph_node(sum);
  }
  testing::TensorSpec total;
  total.grad_fn = sum.address;
  scene.held(scene.tensor(4, line, 508, total), "total", ReferenceRoot::local);
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::running_sum);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 90 * kMiB);
}

TEST(Promises, TensorsFreedMeanwhilePerhapsHadBlocks) {
  DeviceScene scene;
  scene.segment().block(kMiB);
  testing::TensorSpec gone;
  gone.known = 0;
  gone.flags = uint32_t(format::TensorFlag::freed_during_dump);
  scene.builder.tensor(gone);
  EXPECT_EQ(Told(scene).part("in no tensor").note.other, 1u);  // freed while the dump was written
}

TEST(Promises, NobodyDropsTheArgumentsOfARunningFunctionOfTorch) {
  const auto remedy = [](const std::string& file) {
    DeviceScene scene;
    scene.segment();
    const uint64_t tensor = scene.tensor(120 * kMiB);
    scene.builder.site(0, scene.builder.python({{file, "BackwardCFunction.apply", 298, false}}));
    scene.builder.reference({tensor, "args[0]", "BackwardCFunction.apply", "tuple", ReferenceRoot::local});
    scene.builder.tensor_object({tensor, "Tensor", 1, format::WrapperState::referenced});
    return Told(scene).remedy(RemedyKind::drop_holder) != nullptr;
  };
  EXPECT_FALSE(remedy("/usr/lib/python3.11/site-packages/torch/autograd/function.py"));
  EXPECT_TRUE(remedy("/home/user/function.py"));
}

// The last pass runs: what it has saved, its next operations may need.
TEST(Promises, WithoutGradTheRunningPassStays) {
  DeviceScene scene;
  scene.segment();
  const uint32_t site = scene.in_module("model", 10);
  for (int i = 0; i < 3; i++) scene.saved(40 * kMiB, site, scene.node(site));
  scene.failure.site = site;
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::no_grad);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 120 * kMiB);
  EXPECT_EQ(remedy->low, 80 * kMiB);
  EXPECT_TRUE(remedy->at_most);
}

// Two remedies for the same bytes would look like twice as many.
TEST(Promises, WithoutGradIsNoAdviceForCycles) {
  for (const bool cycles : {false, true}) {
    DeviceScene scene;
    scene.segment();
    const uint32_t site = scene.in_module("model", 10);
    for (int i = 0; i < 3; i++) {
      const uint32_t node = scene.node(site);
      scene.saved(40 * kMiB, site, node);
      testing::TensorSpec leaf;
      leaf.grad_fn = scene.builder.graph_address(node);
      testing::SavedSpec slot;
      slot.tensor = scene.tensor(kMiB, site, 0, leaf);
      if (cycles)
        scene.builder.saved(node, slot);
      else
        scene.builder.tensor_object({slot.tensor, "Tensor", 1, format::WrapperState::referenced});
    }
    scene.failure.site = site;
    const Told told(scene);
    EXPECT_EQ(told.remedy(RemedyKind::no_grad) == nullptr, cycles);
    EXPECT_EQ(told.remedy(RemedyKind::break_graph_cycle) != nullptr, cycles);
  }
}

TEST(Promises, ItemIsForNumbersAlone) {
  DeviceScene scene;
  scene.segment();
  const uint32_t site = scene.in_module("model", 10);
  for (int i = 0; i < 3; i++) {
    const uint32_t node = scene.node(site);
    scene.saved(40 * kMiB, site, node);
    testing::TensorSpec logits;
    logits.grad_fn = 0x600000000000 + uint64_t(i + 1) * 512;
    scene.held(scene.tensor(kMiB, site, 0, logits), "logits[" + std::to_string(i) + "]");
  }
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::drop_holder), nullptr);
  EXPECT_FALSE(told.remedy(RemedyKind::drop_holder)->scalars);
  EXPECT_GT(told.remedy(RemedyKind::drop_holder)->graph_bytes, 0u);
}

// points -> its gradient -> a node -> points, and what the node saved besides.
uint64_t with_gradient_graph(DeviceScene& scene, bool also_saves_the_leaf) {
  scene.segment();
  const uint32_t site = scene.in_module("model", 1), node = scene.node(site);
  scene.saved(40 * kMiB, site, node);
  testing::TensorSpec gradient;
  gradient.address = 0x7fff00000000;
  gradient.grad_fn = scene.builder.graph_address(node);
  scene.tensor(40 * kMiB, scene.builder.site(0, scene.builder.python({{"/home/user/train.py", "curvature", 31}})), 0,
               gradient);
  testing::TensorSpec leaf;
  leaf.grad = gradient.address;
  const uint64_t points = scene.tensor(40 * kMiB, site, 0, leaf);
  testing::SavedSpec slot;
  slot.tensor = points;
  if (also_saves_the_leaf) scene.builder.saved(node, slot);
  return points;
}

TEST(Promises, ACycleThroughTheAutogradGraph) {
  DeviceScene scene;
  with_gradient_graph(scene, true);
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::break_graph_cycle);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 120 * kMiB);
  EXPECT_FALSE(remedy->at_most);
  EXPECT_EQ(remedy->fits, Fits::yes);
  EXPECT_EQ(remedy->where, "train.py:31 curvature");
  EXPECT_EQ(told.remedy(RemedyKind::gradient_graph), nullptr);

  DeviceScene held;
  held.held(with_gradient_graph(held, true), "points");
  EXPECT_EQ(Told(held).remedy(RemedyKind::break_graph_cycle), nullptr);
}

TEST(Promises, GradientsThatHaveAGraph) {
  DeviceScene scene;
  scene.held(with_gradient_graph(scene, false), "points");
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::gradient_graph);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 80 * kMiB);  // the gradient and what its node saved
  EXPECT_TRUE(remedy->at_most);
  EXPECT_EQ(remedy->low, 0u);
  EXPECT_EQ(remedy->fits, Fits::no);
  EXPECT_EQ(remedy->count, 1u);
  EXPECT_EQ(remedy->where, "train.py:31 curvature");
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
