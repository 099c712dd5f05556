// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "graph_fixture.h"

namespace tensorscope::analyzer {
namespace {

using ::testing::ElementsAre;
using testing::HandGraph;
using ::testing::IsEmpty;

// `count` times x + x on top of a leaf.
HandGraph diamonds(int count) {
  HandGraph hand;
  uint32_t node = hand.leaf();
  for (int i = 0; i < count; ++i) node = hand.node("AddBackward0", {node, node});
  return hand;
}

uint64_t paths_to_leaf(const HandGraph& hand, uint32_t root) {
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::array from{root};
  return walk.path_counts(walk.inputs(from))[0];
}

TEST(GraphWalk, AChainOfAHundredThousandOperations) {
  HandGraph hand;
  uint32_t node = hand.leaf();
  for (int i = 0; i < 100'000; ++i) node = hand.node("MulBackward0", {node});
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::array from{node};
  const Reach reach = walk.inputs(from);
  EXPECT_EQ(reach.nodes.size(), 100'001u);
  EXPECT_EQ(reach.distance[0], 100'000u);
  const std::vector<uint32_t> path = reach.path_to(0);
  ASSERT_EQ(path.size(), 100'001u);
  EXPECT_EQ(path.front(), node);
  EXPECT_EQ(path.back(), 0u);
  EXPECT_EQ(walk.path_counts(reach)[0], 1u);
  EXPECT_EQ(walk.parts().size(), 1u);
  const std::array leaf{0u};
  EXPECT_EQ(walk.users(leaf).distance[node], 100'000u);
}

TEST(GraphWalk, BothEdgesOfASquareCount) {
  EXPECT_EQ(paths_to_leaf(diamonds(1), 1), 2u);
  EXPECT_EQ(paths_to_leaf(diamonds(18), 18), 262'144u);
}

TEST(GraphWalk, MorePathsThanANumberHolds) {
  EXPECT_EQ(paths_to_leaf(diamonds(60), 60), uint64_t{1} << 60);
  EXPECT_EQ(paths_to_leaf(diamonds(62), 62), uint64_t{1} << 62);
  EXPECT_EQ(paths_to_leaf(diamonds(63), 63), kManyPaths);
  EXPECT_EQ(paths_to_leaf(diamonds(64), 64), kManyPaths);
  EXPECT_EQ(paths_to_leaf(diamonds(5000), 5000), kManyPaths);
}

TEST(GraphWalk, TheShortestOfSeveralPaths) {
  HandGraph hand;
  const uint32_t leaf = hand.leaf();
  const uint32_t a = hand.node("A", {leaf}), b = hand.node("B", {a}), root = hand.node("Root", {b, leaf});
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::array from{root};
  const Reach reach = walk.inputs(from);
  EXPECT_THAT(reach.path_to(leaf), ElementsAre(root, leaf));
  EXPECT_THAT(reach.path_to(a), ElementsAre(root, b, a));
  EXPECT_EQ(walk.path_counts(reach)[leaf], 2u);
  const std::array other{b};
  EXPECT_THAT(walk.inputs(other).path_to(root), IsEmpty());
  EXPECT_THAT(walk.users(other).path_to(root), ElementsAre(b, root));
}

TEST(GraphWalk, EdgesToNothing) {
  HandGraph hand;
  const uint32_t node = hand.node("AddBackward0", {kNoNode, kNoNode});
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::array from{node};
  EXPECT_THAT(walk.inputs(from).nodes, ElementsAre(node));
  EXPECT_THAT(walk.path_counts(walk.inputs(from)), ElementsAre(1u));
}

// No sound file has one.
TEST(GraphWalk, CyclesEnd) {
  HandGraph hand;
  const uint32_t leaf = hand.leaf(), a = hand.node("A", {leaf}), b = hand.node("B", {a}), root = hand.node("C", {b});
  hand.edge(a, b);
  hand.edge(root, root);
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::array from{root};
  const Reach reach = walk.inputs(from);
  EXPECT_EQ(reach.nodes.size(), 4u);
  const std::vector<uint64_t> counts = walk.path_counts(reach);
  EXPECT_EQ(counts[leaf], kEndlessPaths);
  EXPECT_EQ(counts[root], kEndlessPaths);
  ASSERT_EQ(walk.parts().size(), 1u);
  EXPECT_THAT(walk.parts()[0].roots, ElementsAre(a));
}

TEST(GraphWalk, ACycleBesideTheWayDoesNotDisturb) {
  HandGraph hand;
  const uint32_t leaf = hand.leaf(), root = hand.node("A", {leaf});
  const uint32_t loop = hand.node("B", {root});
  hand.edge(loop, loop);
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::array from{root};
  EXPECT_EQ(walk.path_counts(walk.inputs(from))[leaf], 1u);
}

TEST(GraphWalk, GraphsThatShareNothingButLeavesAreSeveral) {
  HandGraph hand;
  const uint32_t weight = hand.leaf();
  const uint32_t first = hand.node("Loss", {hand.node("Mul", {weight})});
  const uint32_t trunk = hand.node("Mul", {weight});
  const uint32_t left = hand.node("Left", {trunk}), right = hand.node("Right", {trunk});
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::vector<GraphPart> parts = walk.parts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[0].roots, ElementsAre(first));
  EXPECT_THAT(parts[0].nodes, ElementsAre(1u, first));
  EXPECT_THAT(parts[1].roots, ElementsAre(left, right));
  EXPECT_THAT(parts[1].nodes, ElementsAre(trunk, left, right));
}

TEST(GraphWalk, ANodeInsideAnotherIsNoGraphOfItsOwn) {
  HandGraph hand;
  hand.inner("Strange");  // inside of nothing
  const uint32_t copy = hand.node("CopySlices"), mul = hand.inner("MulBackward0"), deeper = hand.inner("Deeper");
  const Graph graph = hand.graph();
  const GraphWalk walk(graph);
  const std::vector<GraphPart> parts = walk.parts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[1].roots, ElementsAre(copy));
  EXPECT_THAT(parts[1].nodes, ElementsAre(copy, mul, deeper));
  EXPECT_EQ(walk.outer(deeper), copy);
  EXPECT_EQ(walk.outer(0), 0u);
}

TEST(GraphWalk, AnEmptyGraph) {
  const Graph graph;
  const GraphWalk walk(graph);
  EXPECT_THAT(walk.parts(), IsEmpty());
  EXPECT_THAT(walk.inputs({}).nodes, IsEmpty());
}

TEST(GraphTensors, NodesOfTensors) {
  HandGraph hand;
  Dump dump;
  dump.tensors.resize(5);
  const uint32_t leaf = hand.leaf(0);
  const uint32_t mul = hand.node("MulBackward0", {leaf, leaf});
  hand.save(mul, 0);
  hand.save(mul, 3, format::SlotState::empty);
  hand.save(mul, 4);
  dump.tensors[1].grad_fn = hand.address(mul);
  dump.tensors[2].grad_fn = 0x99;  // of a node that is not there
  dump.graph = hand.graph();
  const GraphTensors tensors(dump);
  EXPECT_EQ(tensors.node_of(0), leaf);
  EXPECT_EQ(tensors.node_of(1), mul);
  EXPECT_EQ(tensors.node_of(2), kNoNode);
  EXPECT_EQ(tensors.node_of(4), kNoNode);
  EXPECT_THAT(tensors.tensors_of(leaf), ElementsAre(0u));
  EXPECT_THAT(tensors.tensors_of(mul), ElementsAre(1u));
  EXPECT_THAT(tensors.savers_of(0), ElementsAre(mul));
  EXPECT_THAT(tensors.savers_of(3), IsEmpty());
  EXPECT_THAT(tensors.savers_of(4), ElementsAre(mul));
}

TEST(GraphTensors, FreedBuffers) {
  HandGraph hand;
  const uint32_t freed = hand.node("A"), part = hand.node("B"), packed = hand.node("C"), none = hand.node("D");
  hand.save(freed, kNone, format::SlotState::empty);
  hand.save(freed, kNone, format::SlotState::empty);
  hand.save(part, kNone, format::SlotState::empty);
  hand.save(part, 0);
  hand.save(packed, kNone, format::SlotState::packed);
  const Graph graph = hand.graph();
  EXPECT_TRUE(buffers_freed(graph, freed));
  EXPECT_FALSE(buffers_freed(graph, part));
  EXPECT_FALSE(buffers_freed(graph, packed));
  EXPECT_FALSE(buffers_freed(graph, none));
}

}  // namespace
}  // namespace tensorscope::analyzer
