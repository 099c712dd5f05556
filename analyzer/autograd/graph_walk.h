// SPDX-License-Identifier: Apache-2.0
// Walks over the autograd graph: what a node leads to, by which shortest way, by how many ways, and which graphs there
// are at all. Every walk is linear in nodes and edges and uses no call stack: a graph may be a hundred thousand
// operations deep. Cycles cannot be in a sound graph; in a damaged one they end a walk like any node seen before.
//
// Terms: a node's *inputs* are where its edges lead (next_functions, towards the leaves), its *users* are the nodes
// whose edges lead to it (towards the loss). A *root* is a node without users.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dump/dump.h"
#include "dump/number_lists.h"

namespace tensorscope::analyzer {

// What a walk from some nodes came to. Vectors are by node of the whole graph.
struct Reach {
  std::vector<uint32_t> nodes;     // nearest first; the nodes it began with come first of all
  std::vector<uint32_t> distance;  // edges on a shortest way; kNoNode: not reached
  std::vector<uint32_t> previous;  // the node before it on that way; kNoNode where the walk began

  bool has(uint32_t node) const { return distance[node] != kNoNode; }
  std::vector<uint32_t> path_to(uint32_t node) const;  // begins where the walk began; empty: not reached
};

inline constexpr uint64_t kManyPaths = INT64_MAX;      // this many or more
inline constexpr uint64_t kEndlessPaths = UINT64_MAX;  // through a cycle

// One graph as people count them: nodes that are linked otherwise than through a leaf that both use. Two losses of one
// model are two graphs.
struct GraphPart {
  std::vector<uint32_t> roots;  // by number; a part that is nothing but cycles has its first node here
  std::vector<uint32_t> nodes;  // by number, without accumulators
};

class GraphWalk {
 public:
  explicit GraphWalk(const Graph& graph);

  Reach inputs(std::span<const uint32_t> from) const;  // towards the leaves
  Reach users(std::span<const uint32_t> from) const;   // towards the roots
  // Once for each edge: a node that uses another twice stands twice.
  std::span<const uint32_t> users_of(uint32_t node) const { return users_.of(node); }
  bool accumulates(uint32_t node) const;
  // A node that runs inside the one before it, which keeps it alive (CopySlices); no edge leads to it.
  bool is_inner(uint32_t node) const;
  uint32_t outer(uint32_t node) const {  // the one with edges
    while (is_inner(node)) --node;
    return node;
  }

  // How many ways lead from where `reach` (of inputs()) began to each of its nodes, by node of the whole graph. Two
  // edges between the same nodes are two ways.
  std::vector<uint64_t> path_counts(const Reach& reach) const;

  // All graphs, by their first node. Accumulators belong to none: they are leaves, and shared.
  std::vector<GraphPart> parts() const;

 private:
  const Graph& graph_;
  NumberLists users_;
};

inline constexpr uint32_t kAnyOutput = UINT32_MAX;  // the dump does not tell which

// One of what a node's operation returned: chunks of a split, states of an LSTM.
struct NodeOutput {
  uint32_t node = kNoNode;
  uint32_t output = kAnyOutput;
};

// Which tensors belong to which nodes.
class GraphTensors {
 public:
  explicit GraphTensors(const Dump& dump);

  // The node a tensor came out of; a leaf's accumulator; kNoNode: it is in no graph.
  uint32_t node_of(uint32_t tensor) const { return node_of_[tensor]; }
  NodeOutput output_of(uint32_t tensor) const;
  // Live tensors that came out of a node; the leaf of an accumulator.
  std::span<const uint32_t> tensors_of(uint32_t node) const { return tensors_of_.of(node); }
  // Those that are this output of it, or may be.
  std::vector<uint32_t> tensors_of(const NodeOutput& output) const;
  // Nodes that hold a tensor in a slot, once for each slot; accumulators are not among them.
  std::span<const uint32_t> savers_of(uint32_t tensor) const { return savers_of_.of(tensor); }

 private:
  const Dump& dump_;
  std::vector<uint32_t> node_of_;
  NumberLists tensors_of_, savers_of_;
};

// Whether what a node saved for its backward was freed: it has slots, and all are empty.
bool buffers_freed(const Graph& graph, uint32_t node);

}  // namespace tensorscope::analyzer
