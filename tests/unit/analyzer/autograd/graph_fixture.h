// SPDX-License-Identifier: Apache-2.0
// Autograd graphs filled by hand: nodes in any order, edges to nodes that come later (as only a damaged file has them).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "dump_generated.h"

namespace tensorscope::testing {

class HandGraph {
 public:
  // Sequence numbers count up from 1; accumulators have the largest there is, as in torch.
  uint32_t node(const std::string& class_name, std::vector<uint32_t> inputs = {}, uint64_t sequence = 0) {
    uint32_t id = 0;
    while (id < classes_.size() && classes_[id] != class_name) ++id;
    if (id == classes_.size()) classes_.push_back(class_name);
    analyzer::GraphNode node;
    node.address = 0x10000 + nodes_.size() * 64;
    node.class_name = id;
    node.sequence = sequence != 0 ? sequence : ++sequence_;
    nodes_.push_back(node);
    inputs_.push_back(std::move(inputs));
    saved_.emplace_back();
    return uint32_t(nodes_.size() - 1);
  }
  uint32_t leaf(uint32_t tensor = analyzer::kNone) {
    const uint32_t id = node("AccumulateGrad", {}, UINT64_MAX);
    nodes_[id].flags = uint8_t(format::GraphNodeFlag::accumulates);
    if (tensor != analyzer::kNone) save(id, tensor);
    return id;
  }
  // Inside the node before it.
  uint32_t inner(const std::string& class_name) {
    const uint32_t id = node(class_name);
    nodes_[id].flags = uint8_t(format::GraphNodeFlag::inner);
    return id;
  }
  void edge(uint32_t from, uint32_t to) { inputs_[from].push_back(to); }
  void save(uint32_t node, uint32_t tensor, format::SlotState state = format::SlotState::held) {
    analyzer::SavedSlot slot;
    slot.tensor = tensor;
    slot.ordinal = uint16_t(saved_[node].size());
    slot.state = uint8_t(state);
    saved_[node].push_back(slot);
  }
  uint64_t address(uint32_t node) const { return nodes_[node].address; }

  analyzer::Graph graph() const {
    analyzer::Graph graph;
    graph.present = graph.complete = true;
    graph.class_names = classes_;
    graph.nodes = nodes_;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      graph.nodes[i].first_edge = uint32_t(graph.edges.size());
      graph.nodes[i].edge_count = uint32_t(inputs_[i].size());
      for (uint32_t input : inputs_[i]) graph.edges.push_back({input, 0});
      graph.nodes[i].first_saved = uint32_t(graph.saved.size());
      graph.nodes[i].saved_count = uint32_t(saved_[i].size());
      graph.saved.insert(graph.saved.end(), saved_[i].begin(), saved_[i].end());
    }
    return graph;
  }

 private:
  std::vector<std::string> classes_;
  std::vector<analyzer::GraphNode> nodes_;
  std::vector<std::vector<uint32_t>> inputs_;
  std::vector<std::vector<analyzer::SavedSlot>> saved_;
  uint64_t sequence_ = 0;
};

}  // namespace tensorscope::testing
