// SPDX-License-Identifier: Apache-2.0
// The questions that `tensorscope graph` answers, worked out: which graphs there are, what a tensor was made from, how
// two tensors are linked, and which tensor with a name is nearest. Indexes only; words are the renderer's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/graph_keeps.h"
#include "autograd/graph_view.h"

namespace tensorscope::analyzer {

// What a question is about.
struct GraphSubject {
  uint32_t tensor = kNone;  // kNone: a node alone
  uint32_t node = kNoNode;  // kNoNode: the tensor is in no graph
};

// Graphs whose roots are of the same classes and were made at the same place: losses of many steps.
struct GraphGroup {
  std::vector<uint32_t> roots;  // of all of its graphs
  uint64_t graphs = 0;
  uint64_t nodes = 0, freed_nodes = 0;  // without accumulators; of these, those whose buffers were freed
  uint64_t bytes = 0, only_bytes = 0;   // kept alive by all of them together; see GraphKeeps
  std::vector<std::string> names;       // of the tensors that came out of the roots, or of variables with the nodes
};

struct GraphOverview {
  std::vector<GraphGroup> groups;  // those that keep most first
  uint64_t graphs = 0, nodes = 0, edges = 0, accumulators = 0, unused_accumulators = 0;
  uint64_t freed_nodes = 0, partial_nodes = 0, python_nodes = 0;
  std::vector<FreedNodes> freed_by;
  Kept kept;  // by all graphs together
  bool certain = false;
};
GraphOverview graph_overview(const GraphView& view, GraphKeeps& keeps);

struct GraphLeaf {
  uint32_t node = kNoNode;  // accumulator
  uint32_t tensor = kNone;  // kNone: not in the table
  uint64_t paths = 0;       // kManyPaths, kEndlessPaths
  uint32_t steps = 0;       // edges on a shortest path
};

struct GraphBelow {
  std::vector<GraphSubject> asked;
  Reach reach;
  std::vector<GraphLeaf> leaves;  // nearest first
  uint64_t operations = 0;        // nodes that are no accumulators
  uint64_t freed_nodes = 0, partial_nodes = 0;
  std::vector<FreedNodes> freed_by;
  std::vector<uint32_t> roots;  // those of the graphs it is part of; empty: it is one itself
};
// Each of `asked` has a node.
GraphBelow graph_below(const GraphView& view, const std::vector<GraphSubject>& asked);

struct GraphPath {
  uint32_t input = kNone, output = kNone;  // tensors: the one that `output` was computed from, and `output`
  std::vector<uint32_t> nodes;             // from the output's node to the input's; empty: there is no path
  std::vector<uint32_t> outputs;           // of each node, through which of its outputs; kAnyOutput: not known
  uint64_t paths = 0;                      // how many there are
  bool reversed = false;                   // the path leads from the first tensor to the second
  // The input is in no graph, and the last node saved it: index into Graph::saved. kNone: it came out of that node.
  uint32_t saved_in = kNone;
};
// Looks from `a` down to `b`, then from `b` down to `a`. A tensor that needs no gradient is found where a node saved
// it.
GraphPath graph_path(const GraphView& view, uint32_t a, uint32_t b);

struct GraphRelative {
  uint32_t tensor = kNone;
  std::string name;
  uint32_t steps = 0;
  std::vector<uint32_t> nodes;  // from the tensor in question to this one
};
struct GraphNeighbours {
  std::vector<uint32_t> nodes;  // where the search began: the node it came out of, else those that saved it
  bool saved_by = false;        // these are nodes that saved it as an input
  // The nearest each way, all that are equally near (at most kMaxRelatives). Of a tensor that was only saved, what
  // the operation that saved it was made from counts.
  std::vector<GraphRelative> made_from, used_for;
  std::vector<GraphRelative> same_node;     // other tensors that came out of its node
  std::vector<GraphRelative> same_storage;  // other tensors of its storage
};
inline constexpr size_t kMaxRelatives = 8;
GraphNeighbours graph_neighbours(const GraphView& view, uint32_t tensor);

}  // namespace tensorscope::analyzer
