// SPDX-License-Identifier: Apache-2.0
// The autograd graph of a dump as it stood: which node leads to which, and what each keeps alive. Indexes are checked
// when the dump is read (decode/graph_rows.cc). A graph may be as deep as a program is long: nothing that walks it
// recurses.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

inline constexpr uint32_t kNoNode = UINT32_MAX;

struct GraphNode {
  uint64_t address = 0, object = 0, sequence = 0;
  uint32_t class_name = 0;  // index into Graph::class_names
  uint32_t seen =
      UINT32_MAX;  // index into Dump::nodes: forward stack, thread, time; kNone: nobody saw it being attached
  uint32_t first_edge = 0, edge_count = 0;
  uint32_t first_saved = 0, saved_count = 0;
  uint8_t flags = 0;  // format::GraphNodeFlag
};

struct GraphEdge {
  uint32_t node = kNoNode;  // kNoNode: to nothing
  uint32_t input = 0;
};

struct SavedSlot {
  uint32_t tensor = UINT32_MAX;  // index into Dump::tensors, kNone: none, or not in the table
  uint16_t ordinal = 0;
  int16_t element = -1;  // of a list; -1: the slot is one tensor
  uint8_t state = 0;     // format::SlotState
  bool output = false;   // a detached alias of one of the operation's own outputs
};

struct Graph {
  std::vector<std::string> class_names;  // "AddmmBackward0", as people know them
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::vector<SavedSlot> saved;
  std::map<std::pair<uint32_t, uint16_t>, std::string> slot_names;  // by class and ordinal
  bool present = false;                                             // the dump has a graph at all
  bool complete = false;
  std::string detail;  // why not

  // Whether every live node was read: only then does it count that none of them holds a tensor.
  bool whole() const { return present && complete; }
  // Why it is not whole.
  std::string gap() const;
  std::span<const GraphEdge> edges_of(uint32_t node) const {
    return {edges.data() + nodes[node].first_edge, nodes[node].edge_count};
  }
  std::span<const SavedSlot> saved_of(uint32_t node) const {
    return {saved.data() + nodes[node].first_saved, nodes[node].saved_count};
  }
  const std::string& class_name(uint32_t node) const { return class_names[nodes[node].class_name]; }
  // "self", "indices[2]"; "saved[1]" where Python did not report the name.
  std::string slot_name(uint32_t node, const SavedSlot& slot) const;
};

}  // namespace tensorscope::analyzer
