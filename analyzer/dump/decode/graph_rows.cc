// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/graph_rows.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "dump/decode/flatbuffer_texts.h"
#include "dump/sort_by_serial.h"
#include "dump/type_names.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxGraphRows = std::numeric_limits<uint32_t>::max() / 2;

// How many edges and slots of the chunk its nodes have.
std::pair<size_t, size_t> add_graph_nodes(const format::GraphRows& in, Decoding& state) {
  Graph& graph = state.dump.graph;
  // A class name is demangled once a chunk, however many nodes have it.
  const OwnTexts texts(in.strings());
  std::unordered_map<uint32_t, uint32_t> classes;
  auto class_of = [&](uint32_t index) {
    auto [found, fresh] = classes.try_emplace(index);
    if (!fresh) return found->second;
    if (!texts.has(index)) state.count("references to missing texts");
    return found->second =
               state.graph_class(texts.has(index) ? state.charged(last_component(class_name_of(texts[index]))) : "");
  };
  const size_t edges = size_of(in.edges()), slots = size_of(in.saved());
  size_t next_edge = 0, next_saved = 0;
  make_room(graph.nodes, size_of(in.nodes()));
  make_room(state.graph.node_serials, size_of(in.nodes()));
  for (size_t i = 0; i < size_of(in.nodes()); i++) {
    const format::GraphNode* row = in.nodes()->Get(flatbuffers::uoffset_t(i));
    GraphNode node;
    node.address = row->address();
    node.object = row->object();
    node.sequence = row->sequence();
    node.flags = row->flags();
    node.class_name = class_of(row->class_name());
    node.first_edge = uint32_t(graph.edges.size() + next_edge);
    node.first_saved = uint32_t(graph.saved.size() + next_saved);
    node.edge_count = uint32_t(std::min<size_t>(row->edges(), edges - next_edge));
    node.saved_count = uint32_t(std::min<size_t>(row->saved(), slots - next_saved));
    if (node.edge_count != row->edges() || node.saved_count != row->saved()) {
      state.count("autograd nodes whose edges or slots are not in the file");
      node.flags |= uint8_t(format::GraphNodeFlag::partial);
    }
    next_edge += node.edge_count;
    next_saved += node.saved_count;
    graph.nodes.push_back(node);
    state.graph.node_serials.push_back(row->serial());
  }
  return {next_edge, next_saved};
}

void add_saved_slots(const format::GraphRows& in, size_t slots, Decoding& state) {
  make_room(state.dump.graph.saved, slots);
  make_room(state.graph.tensors_of_slots, slots);
  for (size_t i = 0; i < slots; i++) {
    const format::SavedSlot* row = in.saved()->Get(flatbuffers::uoffset_t(i));
    uint8_t slot_state = uint8_t(row->state());
    if (slot_state > uint8_t(format::SlotState::MAX)) {
      state.count("saved slots in an invalid state");
      slot_state = uint8_t(format::SlotState::empty);
    }
    state.dump.graph.saved.push_back({kNone, row->ordinal(), row->element(), slot_state, row->output() != 0});
    state.graph.tensors_of_slots.push_back(row->tensor());
  }
}

}  // namespace

void decode_graph(const format::GraphRows& in, Decoding& state) {
  Graph& graph = state.dump.graph;
  if (graph.nodes.size() + size_of(in.nodes()) > kMaxGraphRows ||
      graph.edges.size() + size_of(in.edges()) > kMaxGraphRows ||
      graph.saved.size() + size_of(in.saved()) > kMaxGraphRows) {
    state.count("too many chunks of the autograd graph");
    return;
  }
  graph.present = true;
  graph.complete = graph.complete || in.complete();
  if (in.detail()) graph.detail = state.charged(in.detail()->string_view());
  const auto [edges, slots] = add_graph_nodes(in, state);
  make_room(graph.edges, edges);
  for (size_t i = 0; i < edges; i++) {
    const format::GraphEdge* row = in.edges()->Get(flatbuffers::uoffset_t(i));
    graph.edges.push_back({row->node(), row->input()});
  }
  add_saved_slots(in, slots, state);
  if (edges != size_of(in.edges()) || slots != size_of(in.saved())) {
    state.count("edges or saved slots of no autograd node");
  }
}

void finish_graph(Decoding& state) {
  Graph& graph = state.dump.graph;
  SerialIndex nodes;
  nodes.assign(state.dump.nodes);
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    if (state.graph.node_serials[i] == 0) continue;
    graph.nodes[i].seen = nodes.find(state.graph.node_serials[i]);
    if (graph.nodes[i].seen == kNone) state.count("references to missing autograd nodes");
  }
  for (GraphEdge& edge : graph.edges) {
    if (edge.node == kNoNode || edge.node < graph.nodes.size()) continue;
    state.count("references to missing autograd nodes");
    edge.node = kNoNode;
  }
  for (size_t i = 0; i < graph.saved.size(); i++) {
    if (state.graph.tensors_of_slots[i] != 0)
      graph.saved[i].tensor = state.tensor_with(state.graph.tensors_of_slots[i]);
  }
  for (Decoding::SlotRow& row : state.graph.slots) {
    auto known = state.graph.classes.find(row.class_name);
    if (known != state.graph.classes.end()) {
      graph.slot_names.try_emplace({known->second, row.ordinal}, std::move(row.name));
    }
  }
}

}  // namespace tensorscope::analyzer
