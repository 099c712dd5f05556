// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_collapse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "graph_fixture.h"

namespace tensorscope::analyzer {
namespace {

using ::testing::ElementsAre;
using testing::HandGraph;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A graph with the module and the place of each node.
struct Picture {
  HandGraph hand;
  NodePlaces places;

  uint32_t text(const std::string& value) {
    for (uint32_t i = 0; i < places.texts.size(); ++i) {
      if (places.texts[i] == value) return i;
    }
    places.texts.push_back(value);
    return uint32_t(places.texts.size() - 1);
  }
  uint32_t node(const std::string& module, const std::string& class_name, std::vector<uint32_t> inputs,
                const std::string& place = "") {
    const uint32_t id = hand.node(class_name, std::move(inputs));
    places.module.resize(id + 1);
    places.place.resize(id + 1);
    places.module[id] = text(module);
    places.place[id] = text(place);
    return id;
  }
  // A linear layer of a module with its two parameters, and an activation.
  uint32_t linear(const std::string& module, uint32_t input) {
    const uint32_t weight = hand.leaf(), bias = hand.leaf();
    const uint32_t transposed = node(module, "TBackward0", {weight});
    return node(module, "AddmmBackward0", {bias, input, transposed});
  }

  GraphBoxes boxes(Collapse how, uint32_t depth = 0) {
    graph = hand.graph();
    const GraphWalk walk(graph);
    return collapse(graph, walk, all(), places, how, depth);
  }
  GraphBoxes boxes_to(size_t most) {
    graph = hand.graph();
    const GraphWalk walk(graph);
    return collapse_to(graph, walk, all(), places, most);
  }
  std::vector<uint32_t> all() const {
    std::vector<uint32_t> nodes(graph.nodes.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
  }
  Graph graph;
};

std::vector<std::string> paths(const GraphBoxes& boxes) {
  std::vector<std::string> result;
  for (const GraphBox& box : boxes.boxes) result.push_back(box.is_leaf ? "leaf" : box.path);
  return result;
}

std::vector<std::pair<uint32_t, uint32_t>> ends(const GraphBoxes& boxes) {
  std::vector<std::pair<uint32_t, uint32_t>> result;
  for (const GraphBoxEdge& edge : boxes.edges) result.emplace_back(edge.from, edge.to);
  return result;
}

TEST(GraphCollapse, NoneShowsEachNode) {
  Picture picture;
  const uint32_t out = picture.linear("fc", kNoNode);
  picture.node("", "SumBackward0", {out}, "train.py:3");
  const GraphBoxes boxes = picture.boxes(Collapse::none);
  EXPECT_THAT(paths(boxes), ElementsAre("leaf", "fc", "leaf", "fc", ""));
  EXPECT_EQ(boxes.boxes[4].place, "train.py:3");
  EXPECT_THAT(ends(boxes), ElementsAre(std::pair(0u, 1u), std::pair(1u, 3u), std::pair(2u, 3u), std::pair(3u, 4u)));
}

TEST(GraphCollapse, ACallOfAModuleIsOneBoxWithItsLeaves) {
  Picture picture;
  uint32_t x = picture.linear("model.fc1", kNoNode);
  x = picture.node("model.act", "ReluBackward0", {x});
  x = picture.linear("model.fc2", x);
  picture.node("", "MseLossBackward0", {x}, "train.py:9 step");
  const GraphBoxes boxes = picture.boxes(Collapse::module);
  EXPECT_THAT(paths(boxes), ElementsAre("model.fc1", "model.act", "model.fc2", ""));
  EXPECT_EQ(boxes.boxes[0].nodes.size(), 2u);
  EXPECT_EQ(boxes.boxes[0].leaves.size(), 2u);
  EXPECT_EQ(boxes.boxes[3].place, "train.py:9 step");
  EXPECT_THAT(ends(boxes), ElementsAre(std::pair(0u, 1u), std::pair(1u, 2u), std::pair(2u, 3u)));
  EXPECT_EQ(boxes.edges[0].order, 1u);
  EXPECT_EQ(boxes.edges[2].order, 3u);
  for (uint32_t node = 0; node < picture.graph.nodes.size(); ++node) EXPECT_NE(boxes.box_of[node], kNoNode);
}

TEST(GraphCollapse, AModuleThatIsCalledTwiceHasTwoBoxesAndNoCycle) {
  Picture picture;
  uint32_t x = picture.linear("fc1", kNoNode);
  x = picture.node("relu", "ReluBackward0", {x});
  x = picture.linear("fc2", x);
  picture.node("relu", "ReluBackward0", {x});
  const GraphBoxes boxes = picture.boxes(Collapse::module);
  EXPECT_THAT(paths(boxes), ElementsAre("fc1", "relu", "fc2", "relu"));
  for (const GraphBoxEdge& edge : boxes.edges) EXPECT_LT(edge.from, edge.to);
}

TEST(GraphCollapse, ATiedWeightStandsAlone) {
  Picture picture;
  const uint32_t weight = picture.hand.leaf();
  const uint32_t a = picture.node("embed", "EmbeddingBackward0", {weight});
  picture.node("head", "MmBackward0", {a, weight});
  const GraphBoxes boxes = picture.boxes(Collapse::module);
  EXPECT_THAT(paths(boxes), ElementsAre("leaf", "embed", "head"));
  EXPECT_THAT(ends(boxes), UnorderedElementsAre(std::pair(0u, 1u), std::pair(0u, 2u), std::pair(1u, 2u)));
}

TEST(GraphCollapse, WhatNobodySawBeingMadeBelongsToTheCallAroundIt) {
  Picture picture;
  const uint32_t a = picture.node("fc", "A", {});
  const uint32_t b = picture.node("", "B", {a});
  const uint32_t c = picture.node("fc", "C", {b});
  const uint32_t d = picture.node("", "D", {c});
  picture.node("head", "E", {d});
  const GraphBoxes boxes = picture.boxes(Collapse::module);
  EXPECT_THAT(paths(boxes), ElementsAre("fc", "", "head"));
  EXPECT_EQ(boxes.boxes[0].nodes.size(), 3u);
}

Picture layers(int count) {
  Picture picture;
  uint32_t x = picture.linear("model.embed", kNoNode);
  for (int i = 0; i < count; ++i) {
    const std::string layer = "model.layers." + std::to_string(i);
    const uint32_t attention = picture.linear(layer + ".attn", x);
    x = picture.node(layer, "AddBackward0", {x, attention});
    x = picture.node(layer + ".norm", "NativeLayerNormBackward0", {x});
  }
  picture.linear("model.head", x);
  return picture;
}

TEST(GraphCollapse, RepeatedLayersAreDrawnOnce) {
  Picture picture = layers(32);
  const GraphBoxes boxes = picture.boxes(Collapse::repeat);
  EXPECT_THAT(paths(boxes),
              ElementsAre("model.embed", "model.layers.*.attn", "model.layers.*", "model.layers.*.norm", "model.head"));
  EXPECT_EQ(boxes.boxes[1].calls, 32u);
  EXPECT_THAT(boxes.boxes[1].indices, ElementsAre("0..31"));
  EXPECT_EQ(boxes.boxes[1].leaves.size(), 64u);
  uint64_t loop = 0;  // from each layer to the next
  for (const GraphBoxEdge& edge : boxes.edges) {
    if (edge.from == 3 && edge.to == 1) loop = edge.count;
  }
  EXPECT_EQ(loop, 31u);
}

TEST(GraphCollapse, ALayerWithAnotherStructureStaysApart) {
  Picture picture = layers(4);
  picture.node("model.layers.4.attn", "Special", {kNoNode});
  const GraphBoxes boxes = picture.boxes(Collapse::repeat);
  EXPECT_THAT(paths(boxes), ::testing::Contains("model.layers.4.attn"));
  for (const GraphBox& box : boxes.boxes) {
    if (!box.indices.empty()) {
      EXPECT_THAT(box.indices, ElementsAre("0..3"));
    }
  }
}

TEST(GraphCollapse, OnlyAsMuchAsIsNeeded) {
  Picture picture = layers(4);  // 20 operations, 20 leaves
  EXPECT_EQ(picture.boxes_to(60).how, Collapse::none);
  EXPECT_EQ(picture.boxes_to(14).how, Collapse::module);
  EXPECT_EQ(picture.boxes_to(5).how, Collapse::repeat);
  EXPECT_EQ(picture.boxes_to(5).depth, 0u);
  const GraphBoxes cut = picture.boxes_to(3);
  EXPECT_EQ(cut.depth, 3u);
  EXPECT_THAT(paths(cut), ElementsAre("model.embed", "model.layers.*", "model.head"));
  EXPECT_EQ(cut.boxes[1].calls, 4u);
  EXPECT_THAT(paths(picture.boxes_to(2)), ElementsAre("model"));
}

// A program without modules: what one line does again and again is one box.
TEST(GraphCollapse, PlacesTakeTheRoleOfModules) {
  Picture picture;
  const uint32_t weight = picture.hand.leaf();
  uint32_t x = kNoNode;
  for (int step = 0; step < 1000; ++step) {
    x = picture.node("", "MmBackward0", {x, weight}, "rnn.cc:10 step");
    x = picture.node("", "TanhBackward0", {x}, "rnn.cc:11 step");
  }
  const GraphBoxes boxes = picture.boxes(Collapse::repeat);
  ASSERT_THAT(paths(boxes), ElementsAre("leaf", "", ""));
  EXPECT_EQ(boxes.boxes[1].place, "rnn.cc:10 step");
  EXPECT_EQ(boxes.boxes[1].calls, 1000u);
  EXPECT_THAT(ends(boxes), UnorderedElementsAre(std::pair(0u, 1u), std::pair(1u, 2u), std::pair(2u, 1u)));
  EXPECT_EQ(picture.boxes(Collapse::module).boxes.size(), 2001u);
}

TEST(GraphCollapse, OneLineAHundredThousandTimes) {
  Picture picture;
  uint32_t x = picture.hand.leaf();
  for (int i = 0; i < 100'000; ++i) x = picture.node("", "MulBackward0", {x}, "train.py:3");
  const GraphBoxes boxes = picture.boxes_to(60);
  EXPECT_EQ(boxes.how, Collapse::module);
  ASSERT_EQ(boxes.boxes.size(), 1u);
  EXPECT_EQ(boxes.boxes[0].nodes.size(), 100'000u);
  EXPECT_THAT(boxes.edges, IsEmpty());
}

TEST(GraphCollapse, GraphsOfEqualStepsAreOne) {
  Picture picture;
  const uint32_t weight = picture.hand.leaf();
  for (int step = 0; step < 50; ++step) {
    const uint32_t x = picture.node("model.fc", "MmBackward0", {kNoNode, weight});
    picture.node("", "SumBackward0", {x}, "train.py:7 step");
  }
  const GraphBoxes boxes = picture.boxes(Collapse::repeat);
  ASSERT_THAT(paths(boxes), ElementsAre("leaf", "model.fc", ""));
  EXPECT_EQ(boxes.boxes[1].calls, 50u);
  EXPECT_EQ(boxes.edges[1].count, 50u);
}

TEST(GraphCollapse, CyclesAreDrawn) {
  Picture picture;
  const uint32_t a = picture.node("m", "A", {}), b = picture.node("n", "B", {a});
  picture.hand.edge(a, b);
  picture.hand.edge(a, a);
  for (Collapse how : {Collapse::none, Collapse::module, Collapse::repeat}) {
    EXPECT_EQ(picture.boxes(how).boxes.size(), 2u);
  }
}

TEST(GraphCollapse, OnlyTheNodesThatWereAskedFor) {
  Picture picture;
  const uint32_t leaf = picture.hand.leaf();
  const uint32_t a = picture.node("m", "A", {leaf});
  picture.node("n", "B", {a, leaf});
  picture.graph = picture.hand.graph();
  const GraphWalk walk(picture.graph);
  const std::vector<uint32_t> some{a, leaf, a};
  const GraphBoxes boxes = collapse(picture.graph, walk, some, picture.places, Collapse::module);
  ASSERT_EQ(boxes.boxes.size(), 1u);
  EXPECT_THAT(boxes.boxes[0].nodes, ElementsAre(a));
  EXPECT_THAT(boxes.boxes[0].leaves, ElementsAre(leaf));
  EXPECT_EQ(boxes.box_of[2], kNoNode);
}

}  // namespace
}  // namespace tensorscope::analyzer
