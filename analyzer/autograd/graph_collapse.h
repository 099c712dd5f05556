// SPDX-License-Identifier: Apache-2.0
// Makes a large autograd graph small enough to read: nodes of one call of an nn.Module (or, where no module is known,
// of one place of the program) become one box, and boxes that repeat become one box with a count.
//
// A call is a run of nodes that follow each other in the order of the forward pass (torch's sequence numbers) within
// one graph. So a module that is called twice has two boxes, and boxes of one pass have no cycles among them.
// Repetition merges numbered siblings, "layers.0" to "layers.31", if all below them is of the same structure: same
// modules, same node classes, same indices further down; then calls of one module that did the same. Merged boxes may
// lead to themselves: the next layer, the next step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autograd/graph_walk.h"

namespace tensorscope::analyzer {

// Where each node of the whole graph was made; indexes into `texts`, 0: not known.
struct NodePlaces {
  std::vector<uint32_t> module;  // path of the innermost nn.Module whose forward made it
  std::vector<uint32_t> place;   // "train.py:57 step"
  std::vector<std::string> texts = {""};
};

enum class Collapse : uint8_t { none, module, repeat };

struct GraphBox {
  std::vector<uint32_t> nodes;       // in order of the forward pass; of a box of leaves: its accumulators
  std::vector<uint32_t> leaves;      // accumulators that nothing outside of the box uses
  std::string path;                  // "model.layers.*.attn"; "" where no module is known
  std::string place;                 // where all of its nodes were made; "" if in several places
  std::vector<std::string> indices;  // what each '*' in `path` stands for: "0..31", "0,2,5..7"
  uint64_t calls = 1;                // how many calls it stands for
  uint64_t first = 0;                // sequence number of its first node
  bool is_leaf = false;
};

// From an input to its user, as the forward pass goes.
struct GraphBoxEdge {
  uint32_t from = 0, to = 0;
  uint64_t count = 0;  // edges of the graph
  uint32_t order = 0;  // 1, 2, ...: in the order in which the users were made
};

struct GraphBoxes {
  std::vector<GraphBox> boxes;  // in order of the forward pass, leaves before the box that uses them first
  std::vector<GraphBoxEdge> edges;
  std::vector<uint32_t> box_of;  // by node of the whole graph; kNoNode: not among the nodes
  Collapse how = Collapse::none;
  uint32_t depth = 0;  // module paths were cut after so many names; 0: not at all
};

// `depth`: see GraphBoxes.
GraphBoxes collapse(const Graph& graph, const GraphWalk& walk, std::span<const uint32_t> nodes,
                    const NodePlaces& places, Collapse how, uint32_t depth = 0);

// As little as is needed to come down to `most` boxes, as far as that is possible.
GraphBoxes collapse_to(const Graph& graph, const GraphWalk& walk, std::span<const uint32_t> nodes,
                       const NodePlaces& places, size_t most);

}  // namespace tensorscope::analyzer
