// The part of RowCollector that reads the autograd graph. Numbers of nodes and serials of tensors are resolved in
// finish_graph(), once everything that they may point to is there.
#include <algorithm>
#include <limits>
#include <utility>

#include "dump/row_collector_verify.h"
#include "dump/sort_by_serial.h"
#include "dump/type_names.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {
constexpr size_t kMaxGraphRows = std::numeric_limits<uint32_t>::max() / 2;
}

// Mangled, or as Python calls it.
std::string RowCollector::node_class(std::string_view name) { return last_component(class_name_of(name)); }

uint32_t RowCollector::graph_class(const std::string& name) {
  auto [found, fresh] = graph_classes_.try_emplace(name, uint32_t(dump_.graph.class_names.size()));
  if (fresh) dump_.graph.class_names.push_back(name);
  return found->second;
}

void RowCollector::add_graph(const ChunkView& chunk) {
  const auto* in = verified<format::GraphRows>(chunk);
  if (!in) return;
  Graph& graph = dump_.graph;
  if (graph.nodes.size() + size_of(in->nodes()) > kMaxGraphRows ||
      graph.edges.size() + size_of(in->edges()) > kMaxGraphRows ||
      graph.saved.size() + size_of(in->saved()) > kMaxGraphRows) {
    count("too many chunks of the autograd graph");
    return;
  }
  graph.present = true;
  graph.complete = graph.complete || in->complete();
  if (in->detail()) graph.detail = charged(in->detail()->string_view());
  const auto [edges, slots] = add_graph_nodes(*in);
  make_room(graph.edges, edges);
  for (size_t i = 0; i < edges; i++) {
    const format::GraphEdge* row = in->edges()->Get(flatbuffers::uoffset_t(i));
    graph.edges.push_back({row->node(), row->input()});
  }
  add_saved_slots(*in, slots);
  if (edges != size_of(in->edges()) || slots != size_of(in->saved())) {
    count("edges or saved slots of no autograd node");
  }
}

// How many edges and slots of the chunk its nodes have.
std::pair<size_t, size_t> RowCollector::add_graph_nodes(const format::GraphRows& in) {
  Graph& graph = dump_.graph;
  // A class name is demangled once a chunk, however many nodes have it.
  const OwnTexts texts(in.strings());
  std::unordered_map<uint32_t, uint32_t> classes;
  auto class_of = [&](uint32_t index) {
    auto [found, fresh] = classes.try_emplace(index);
    if (!fresh) return found->second;
    if (!texts.has(index)) count("references to missing texts");
    return found->second = graph_class(texts.has(index) ? charged(node_class(texts[index])) : "");
  };
  const size_t edges = size_of(in.edges()), slots = size_of(in.saved());
  size_t next_edge = 0, next_saved = 0;
  make_room(graph.nodes, size_of(in.nodes()));
  make_room(graph_serials_, size_of(in.nodes()));
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
      count("autograd nodes whose edges or slots are not in the file");
      node.flags |= uint8_t(format::GraphNodeFlag::partial);
    }
    next_edge += node.edge_count;
    next_saved += node.saved_count;
    graph.nodes.push_back(node);
    graph_serials_.push_back(row->serial());
  }
  return {next_edge, next_saved};
}

void RowCollector::add_saved_slots(const format::GraphRows& in, size_t slots) {
  make_room(dump_.graph.saved, slots);
  make_room(saved_serials_, slots);
  for (size_t i = 0; i < slots; i++) {
    const format::SavedSlot* row = in.saved()->Get(flatbuffers::uoffset_t(i));
    uint8_t state = uint8_t(row->state());
    if (state > uint8_t(format::SlotState::MAX)) {
      count("saved slots in an invalid state");
      state = uint8_t(format::SlotState::empty);
    }
    dump_.graph.saved.push_back({kNone, row->ordinal(), row->element(), state, row->output() != 0});
    saved_serials_.push_back(row->tensor());
  }
}

uint32_t RowCollector::tensor_with(uint64_t serial) {
  const uint32_t index = tensor_serials_.find(serial);
  if (index == kNone) count("references to missing tensors");
  return index;
}

// A sparse tensor takes the bytes of its indices and values, however large it would be as a dense one.
void RowCollector::measure_sparse_tensors() {
  SumGuard bytes;
  for (Tensor& tensor : dump_.tensors) {
    if (tensor.is_sparse()) tensor.dense_nbytes = std::exchange(tensor.nbytes, 0);
  }
  for (const TensorPart& row : dump_.parts) {
    Tensor& owner = dump_.tensors[row.owner];
    const Tensor& part = dump_.tensors[row.part];
    ++owner.parts;
    if (owner.is_sparse() && !part.is_sparse() && bytes.admits(part.nbytes)) owner.nbytes += part.nbytes;
  }
}

void RowCollector::finish_graph() {
  Graph& graph = dump_.graph;
  SerialIndex nodes;
  nodes.assign(dump_.nodes);
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    if (graph_serials_[i] == 0) continue;
    graph.nodes[i].seen = nodes.find(graph_serials_[i]);
    if (graph.nodes[i].seen == kNone) count("references to missing autograd nodes");
  }
  for (GraphEdge& edge : graph.edges) {
    if (edge.node == kNoNode || edge.node < graph.nodes.size()) continue;
    count("references to missing autograd nodes");
    edge.node = kNoNode;
  }
  for (size_t i = 0; i < graph.saved.size(); i++) {
    if (saved_serials_[i] != 0) graph.saved[i].tensor = tensor_with(saved_serials_[i]);
  }
  for (const auto& [owner, part] : part_serials_) {
    const TensorPart row = {tensor_with(owner), tensor_with(part)};
    if (row.owner != kNone && row.part != kNone) dump_.parts.push_back(row);
  }
  measure_sparse_tensors();
  for (SlotRow& row : slots_) {
    auto known = graph_classes_.find(row.class_name);
    if (known != graph_classes_.end()) {
      graph.slot_names.try_emplace({known->second, row.ordinal}, std::move(row.name));
    }
  }
}

}  // namespace tensorscope::analyzer
