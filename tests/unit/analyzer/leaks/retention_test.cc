// SPDX-License-Identifier: Apache-2.0
#include "leaks/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Asked;
using testing::Scene;
using testing::serial_at;
using testing::TensorSpec;
using ::testing::UnorderedElementsAre;

uint32_t index_of(const Dump& dump, uint64_t serial) {
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    if (dump.tensors[i].serial == serial) return i;
  }
  return kNone;
}

TEST(Retention, AGraphGoesWithTheTensorThatLeadsToIt) {
  Scene scene(1);
  const uint32_t site = scene.site(1);
  const uint32_t inner = scene.node(10, testing::kTanh), outer = scene.node(20, testing::kAdd, {inner});
  const uint64_t saved = scene.saved(30, 100, site, inner);
  TensorSpec loss = scene.plain(40, 1, site);
  loss.grad_fn = scene.builder.graph_address(outer);
  scene.held(scene.add(loss), "loss");
  Asked asked(scene.builder);
  Retention retention(asked.dump, asked.accounts);
  const uint32_t root = index_of(asked.dump, 41);
  const Retained kept = retention.only_by(std::vector<uint32_t>{root});
  EXPECT_THAT(kept.nodes, UnorderedElementsAre(inner, outer));
  EXPECT_THAT(kept.tensors, UnorderedElementsAre(root, index_of(asked.dump, saved)));
  EXPECT_EQ(kept.bytes, 404u);
}

TEST(Retention, WhatSomethingElseHoldsStays) {
  Scene scene(1);
  const uint32_t site = scene.site(1);
  const uint32_t inner = scene.node(10, testing::kTanh), outer = scene.node(20, testing::kAdd, {inner});
  const uint64_t saved = scene.saved(30, 100, site, inner);
  scene.held(saved, "weight");
  TensorSpec loss = scene.plain(40, 1, site), out = scene.plain(50, 1, site);
  loss.grad_fn = scene.builder.graph_address(outer);
  out.grad_fn = scene.builder.graph_address(inner);
  scene.held(scene.add(loss), "loss");
  scene.held(scene.add(out), "out");
  Asked asked(scene.builder);
  Retention retention(asked.dump, asked.accounts);
  const Retained kept = retention.only_by(std::vector<uint32_t>{index_of(asked.dump, 41)});
  EXPECT_THAT(kept.nodes, UnorderedElementsAre(outer));
  EXPECT_EQ(kept.bytes, 4u);
}

TEST(Retention, AViewKeepsItsBaseAndAStorageGoesWithItsLastTensor) {
  Scene scene(1);
  const uint32_t site = scene.site(1);
  TensorSpec base = scene.plain(10, 100, site);
  scene.add(base);
  for (uint64_t serial : {20u, 30u}) {
    TensorSpec view = base;
    view.serial = serial;
    view.address = Scene::address(serial);
    view.sizes = {10};
    view.storage_nbytes = 400;
    view.flags = uint32_t(format::TensorFlag::leaf) | uint32_t(format::TensorFlag::view);
    scene.held(scene.add(view), "view");
  }
  Asked asked(scene.builder);
  Retention retention(asked.dump, asked.accounts);
  EXPECT_FALSE(retention.cpp_only(index_of(asked.dump, 11)));
  EXPECT_TRUE(retention.is_only_a_base(index_of(asked.dump, 11)));
  const uint32_t one = index_of(asked.dump, 20), other = index_of(asked.dump, 30);
  EXPECT_EQ(retention.only_by(std::vector<uint32_t>{one}).bytes, 0u);
  EXPECT_EQ(retention.only_by(std::vector<uint32_t>{one, other}).bytes, 400u);
}

TEST(Retention, WhatNothingRefersToIsHeldByCpp) {
  Scene scene(1);
  const uint32_t site = scene.site(1);
  TensorSpec gradient = scene.plain(10, 10, site);
  scene.add(gradient);
  TensorSpec leaf = scene.plain(20, 10, site);
  leaf.grad = gradient.address;
  scene.held(scene.add(leaf), "weight");
  scene.add(scene.plain(30, 10, site));
  Asked asked(scene.builder);
  Retention retention(asked.dump, asked.accounts);
  EXPECT_FALSE(retention.cpp_only(index_of(asked.dump, 11)));
  EXPECT_FALSE(retention.cpp_only(index_of(asked.dump, 21)));
  EXPECT_TRUE(retention.cpp_only(index_of(asked.dump, 31)));
  EXPECT_EQ(retention.only_by(std::vector<uint32_t>{index_of(asked.dump, 21)}).bytes, 80u);
}

// weight -> its gradient -> a node -> what the node saved.
TEST(Retention, AGradientThatHasAGraph) {
  Scene scene(1);
  const uint32_t site = scene.site(1), node = scene.node(5, testing::kTanh);
  const uint64_t saved = scene.saved(10, 100, site, node);
  TensorSpec gradient = scene.plain(20, 10, site);
  gradient.grad_fn = scene.builder.graph_address(node);
  scene.add(gradient);
  TensorSpec leaf = scene.plain(30, 10, site);
  leaf.grad = gradient.address;
  scene.held(scene.add(leaf), "weight");
  Asked asked(scene.builder);
  Retention retention(asked.dump, asked.accounts);
  const uint32_t weight = index_of(asked.dump, 31), its = index_of(asked.dump, 21);
  EXPECT_THAT(retention.gradients_with_graph(), UnorderedElementsAre(its));
  EXPECT_THAT(retention.without_graph(std::vector<uint32_t>{weight}), UnorderedElementsAre(weight, its));
  const Retained kept = retention.only_by_gradients(std::vector<uint32_t>{its});
  EXPECT_THAT(kept.tensors, UnorderedElementsAre(its, index_of(asked.dump, saved)));
  EXPECT_EQ(kept.bytes, 440u);
  EXPECT_EQ(retention.unrooted().bytes, 0u);
}

TEST(Retention, AHundredThousandNodesInARow) {
  Scene scene(1);
  uint32_t last = scene.node(10, testing::kAdd);
  for (uint64_t i = 1; i < 100'000; ++i) last = scene.node(10 + i, testing::kAdd, {last});
  TensorSpec loss = scene.plain(200'000, 1, scene.site(1));
  loss.grad_fn = scene.builder.graph_address(last);
  scene.held(scene.add(loss), "loss");
  Asked asked(scene.builder);
  Retention retention(asked.dump, asked.accounts);
  EXPECT_EQ(retention.only_by(std::vector<uint32_t>{0}).nodes.size(), 100'000u);
}

}  // namespace
}  // namespace tensorscope::analyzer
