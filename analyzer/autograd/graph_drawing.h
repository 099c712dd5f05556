// SPDX-License-Identifier: Apache-2.0
// A graph ready to be drawn or listed: boxes and edges between them, for text, JSON and Graphviz
// alike. Kinds of boxes are those of pytorchviz: leaf, function, output, saved tensor, base of a view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/graph_view.h"

namespace tensorscope::analyzer {

struct DrawnBox {
  enum class Kind : uint8_t {
    function,  // one node, or several of one call or place
    module,    // a call of an nn.Module, or several alike
    leaf,      // leaves that require grad, with their accumulators
    saved,     // a saved tensor
    output,    // a tensor that came out of the last node
    base       // what a leaf or output is a view of
  } kind = Kind::function;
  std::string title;                    // "model.layers.*.attn", "AddmmBackward0", "#12 loss"; "" for leaves
  std::string classes;                  // "AddmmBackward0, TBackward0 x2"
  std::string place;                    // "train.py:57 step"
  std::string module;                   // path, "" if none
  std::vector<std::string> indices;     // see GraphBox
  std::vector<uint32_t> nodes, leaves;  // of the graph; leaves: accumulators within a box
  uint32_t tensor = kNone;              // leaf (of one), saved, output, base
  uint64_t calls = 1;
  uint64_t saved_bytes = 0;  // of storages that its slots hold and no box before it; leaves' own not counted
  uint64_t freed_nodes = 0, packed_slots = 0;
};
const char* text(DrawnBox::Kind kind);

struct DrawnEdge {
  uint32_t from = 0, to = 0;  // boxes, as the forward pass goes
  uint64_t count = 1;
  uint32_t order = 0;   // see GraphBoxEdge; 0: none (saved tensors, outputs, bases)
  bool dotted = false;  // from a base to its view
};

struct GraphDrawing {
  std::vector<DrawnBox> boxes;
  std::vector<DrawnEdge> edges;
  Collapse how = Collapse::none;
  uint32_t depth = 0;
  uint64_t nodes = 0;
};

struct DrawingOptions {
  std::optional<Collapse> how;  // none: as little as is needed to come down to kReadableBoxes
  bool saved = false;           // with a box for each saved tensor, where nodes stand alone
};
inline constexpr size_t kReadableBoxes = 60;

// `nodes` with what belongs to them; `outputs`: tensors that came out of some of them.
GraphDrawing graph_drawing(const GraphView& view, std::span<const uint32_t> nodes, std::span<const uint32_t> outputs,
                           const DrawingOptions& options);

// The tensor that a view looks into, where it is still alive: of its storage the largest that is no view.
uint32_t base_of_view(const Dump& dump, uint32_t tensor);

}  // namespace tensorscope::analyzer
