// SPDX-License-Identifier: Apache-2.0
#include "ownership/module_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

uint32_t marked(ModuleTree& tree, const std::string& path, uint32_t mark = 1) {
  const uint32_t node = tree.add(path);
  tree.mark(node, mark);
  return node;
}

TEST(IndexRanges, AreNumeric) {
  EXPECT_EQ(index_ranges({"0", "1", "2", "10"}), "0..2,10");
  EXPECT_EQ(index_ranges({"3", "4"}), "3,4");
  EXPECT_EQ(index_ranges({"7"}), "7");
  EXPECT_EQ(index_ranges({"99999999999999999999999", "100000000000000000000000"}),
            "99999999999999999999999,100000000000000000000000");
}

TEST(ModuleTree, SiblingsOfOneStructureAreOneClass) {
  ModuleTree tree;
  std::vector<uint32_t> attention, mlp;
  for (int i = 31; i >= 0; --i) {  // found in any order
    attention.push_back(marked(tree, "model.layers." + std::to_string(i) + ".attn", 1));
    mlp.push_back(marked(tree, "model.layers." + std::to_string(i) + ".mlp", 2));
  }
  tree.merge();
  for (uint32_t node : attention) EXPECT_EQ(tree.class_of(node), tree.class_of(attention[0]));
  EXPECT_NE(tree.class_of(attention[0]), tree.class_of(mlp[0]));
  EXPECT_EQ(tree.path(mlp[5]), "model.layers.*.mlp");
  EXPECT_THAT(tree.indices(mlp[5]), ElementsAre("0..31"));
}

TEST(ModuleTree, OneThatDiffersStaysApart) {
  ModuleTree tree;
  std::vector<uint32_t> nodes;
  for (int i = 0; i < 12; ++i) nodes.push_back(marked(tree, "layers." + std::to_string(i), i == 4 ? 2 : 1));
  tree.merge();
  EXPECT_EQ(tree.path(nodes[4]), "layers.4");
  EXPECT_EQ(tree.path(nodes[0]), "layers.*");
  EXPECT_THAT(tree.indices(nodes[11]), ElementsAre("0..3,5..11"));
  EXPECT_NE(tree.class_of(nodes[4]), tree.class_of(nodes[0]));
}

TEST(ModuleTree, TwoKindsOfLayersKeepTheirNumbers) {
  ModuleTree tree;
  std::vector<uint32_t> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(marked(tree, "layers." + std::to_string(i), uint32_t(i % 2)));
  tree.merge();
  EXPECT_EQ(tree.path(nodes[0]), "layers.[0,2]");
  EXPECT_EQ(tree.path(nodes[3]), "layers.[1,3]");
  EXPECT_NE(tree.class_of(nodes[0]), tree.class_of(nodes[1]));
}

// Numbers are counted for each parent: experts 0 of one layer and 1 and 2 of another are not "experts x 3".
TEST(ModuleTree, NumbersAreOfTheirParent) {
  ModuleTree tree;
  const uint32_t a = marked(tree, "layers.0.experts.0");
  const uint32_t b = marked(tree, "layers.1.experts.1"), c = marked(tree, "layers.1.experts.2");
  tree.merge();
  EXPECT_EQ(tree.path(a), "layers.0.experts.0");
  EXPECT_EQ(tree.path(b), "layers.1.experts.*");
  EXPECT_EQ(tree.class_of(b), tree.class_of(c));
  EXPECT_NE(tree.class_of(a), tree.class_of(b));
}

TEST(ModuleTree, NestedRepetition) {
  ModuleTree tree;
  std::vector<uint32_t> nodes;
  for (int i = 0; i < 3; ++i) {
    for (int k : {10, 9, 2}) {
      nodes.push_back(marked(tree, "layers." + std::to_string(i) + ".experts." + std::to_string(k)));
    }
  }
  tree.merge();
  for (uint32_t node : nodes) {
    EXPECT_EQ(tree.path(node), "layers.*.experts.*");
    EXPECT_EQ(tree.class_of(node), tree.class_of(nodes[0]));
    EXPECT_THAT(tree.indices(node), ElementsAre("0..2", "2,9,10"));
  }
}

TEST(ModuleTree, WhatHappenedInAModuleIsPartOfItsStructure) {
  ModuleTree tree;
  const uint32_t a = marked(tree, "l.0", 1), b = marked(tree, "l.1", 1);
  tree.mark(b, 1);  // twice
  tree.merge();
  EXPECT_NE(tree.class_of(a), tree.class_of(b));
}

TEST(ModuleTree, DepthCutsPaths) {
  ModuleTree tree;
  const uint32_t a = tree.add("model.layers.0.attn.q", 3), b = tree.add("model.layers.0.mlp", 3);
  EXPECT_EQ(a, b);
  tree.merge();
  EXPECT_EQ(tree.path(a), "model.layers.0");
}

TEST(ModuleTree, StrangePaths) {
  ModuleTree tree;
  EXPECT_EQ(tree.add(""), 0u);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "a.";
  const uint32_t node = tree.add(deep);
  tree.add("..");
  tree.add("0");
  tree.add("00");
  tree.merge();
  EXPECT_EQ(tree.path(0), "");
  EXPECT_LT(tree.path(node).size(), 200u);
  EXPECT_THAT(tree.indices(node), IsEmpty());
}

}  // namespace
}  // namespace tensorscope::analyzer
