// The part of RowCollector that reads the autograd graph and Python's references. Numbers of nodes and serials of
// tensors are resolved in finish_*, once everything that they may point to is there.
#include <algorithm>
#include <limits>

#include "dump_generated.h"
#include "model/row_collector_verify.h"
#include "model/sort_by_serial.h"
#include "model/type_names.h"

namespace tensorscope::model {

namespace {

constexpr size_t kMaxGraphRows = std::numeric_limits<uint32_t>::max() / 2;

template <typename Row>
size_t size_of(const flatbuffers::Vector<const Row*>* rows) {
  return rows ? rows->size() : 0;
}

// The texts of a chunk that has a table of its own.
class OwnTexts {
 public:
  explicit OwnTexts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) : texts_(texts) {}
  bool has(uint32_t index) const { return texts_ && index < texts_->size(); }
  std::string_view operator[](uint32_t index) const { return texts_->Get(index)->string_view(); }

 private:
  const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts_;
};

// Mangled, or as Python calls it.
std::string node_class(std::string_view name) { return last_component(class_name_of(name)); }

}  // namespace

uint32_t RowCollector::graph_class(const std::string& name) {
  auto [found, fresh] = graph_classes_.try_emplace(name, uint32_t(dump_.graph.class_names.size()));
  if (fresh) dump_.graph.class_names.push_back(name);
  return found->second;
}

void RowCollector::add_graph(const ChunkView& chunk) {
  const auto* in = verified<dump::GraphRows>(chunk);
  if (!in) return;
  Graph& graph = dump_.graph;
  const size_t nodes = size_of(in->nodes()), edges = size_of(in->edges()), slots = size_of(in->saved());
  if (graph.nodes.size() + nodes > kMaxGraphRows || graph.edges.size() + edges > kMaxGraphRows ||
      graph.saved.size() + slots > kMaxGraphRows) {
    count("parts of the autograd graph beyond reason");
    return;
  }
  graph.present = true;
  graph.complete = graph.complete || in->complete();
  if (in->detail()) graph.detail = charged(in->detail()->string_view());

  // A class name is demangled once a chunk, however many nodes have it.
  OwnTexts texts(in->strings());
  std::unordered_map<uint32_t, uint32_t> classes;
  auto class_of = [&](uint32_t index) {
    auto [found, fresh] = classes.try_emplace(index);
    if (!fresh) return found->second;
    if (!texts.has(index)) count("references to missing texts");
    return found->second = graph_class(texts.has(index) ? charged(node_class(texts[index])) : "");
  };

  const size_t first_edge = graph.edges.size(), first_saved = graph.saved.size();
  size_t next_edge = 0, next_saved = 0;
  for (size_t i = 0; i < nodes; i++) {
    const dump::GraphNode* row = in->nodes()->Get(flatbuffers::uoffset_t(i));
    GraphNode node;
    node.address = row->address();
    node.object = row->object();
    node.sequence = row->sequence();
    node.flags = row->flags();
    node.class_name = class_of(row->class_name());
    node.first_edge = uint32_t(first_edge + next_edge);
    node.first_saved = uint32_t(first_saved + next_saved);
    node.edge_count = uint32_t(std::min<size_t>(row->edges(), edges - next_edge));
    node.saved_count = uint32_t(std::min<size_t>(row->saved(), slots - next_saved));
    if (node.edge_count != row->edges() || node.saved_count != row->saved()) {
      count("autograd nodes whose edges or slots are not in the file");
      node.flags |= uint8_t(dump::GraphNodeFlag::partial);
    }
    next_edge += node.edge_count;
    next_saved += node.saved_count;
    graph.nodes.push_back(node);
    graph_serials_.push_back(row->serial());
  }
  for (size_t i = 0; i < next_edge; i++) {
    const dump::GraphEdge* row = in->edges()->Get(flatbuffers::uoffset_t(i));
    graph.edges.push_back({row->node(), row->input()});
  }
  for (size_t i = 0; i < next_saved; i++) {
    const dump::SavedSlot* row = in->saved()->Get(flatbuffers::uoffset_t(i));
    uint8_t state = uint8_t(row->state());
    if (state > uint8_t(dump::SlotState::MAX)) {
      count("saved slots in a state that cannot be");
      state = uint8_t(dump::SlotState::empty);
    }
    graph.saved.push_back({kNone, row->ordinal(), row->element(), state, row->output() != 0});
    saved_serials_.push_back(row->tensor());
  }
  if (next_edge != edges || next_saved != slots) count("edges or saved slots of no autograd node");
}

void RowCollector::add_references(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<dump::References>(chunk);
  if (!in) return;
  References& out = dump_.references;
  out.present = true;
  out.complete = in->complete();
  if (in->detail()) out.detail = charged(in->detail()->string_view());
  out.objects = in->objects();
  out.gil_ns = in->gil_ns();
  out.stopped_by = uint8_t(in->stopped_by());
  if (in->stopped_by() > dump::NamesLimit::MAX) {
    count("limits that cannot be");
    out.stopped_by = 0;
  }
  out.time_limit_ms = in->time_limit_ms();
  out.memory_limit = in->memory_limit();
  out.memory_taken = in->memory_taken();
  out.named = size_of(in->tensors());
  OwnTexts texts(in->strings());
  auto str = [&](uint32_t index) -> std::string {
    if (texts.has(index)) return charged(texts[index]);
    if (index != 0) count("references to missing texts");
    return {};
  };
  auto sound_root = [&](dump::ReferenceRoot root) {
    if (root <= dump::ReferenceRoot::MAX) return true;
    count("references from a root that cannot be");
    return false;
  };
  for (size_t i = 0; i < size_of(in->references()); i++) {
    const dump::Reference* row = in->references()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root())) continue;
    Reference reference;
    reference.node = row->node();
    reference.steps = row->steps();
    reference.root = uint8_t(row->root());
    reference.role = uint8_t(row->role());
    if (row->role() > dump::ReferenceRole::MAX) {
      count("references in a role that cannot be");
      reference.role = 0;
    }
    reference.text = str(row->text());
    reference.scope = str(row->scope());
    reference.holder = str(row->holder());
    out.rows.push_back(std::move(reference));
    reference_serials_.push_back(row->tensor());
  }
  for (size_t i = 0; i < size_of(in->tensors()); i++) {
    const dump::TensorObject* row = in->tensors()->Get(flatbuffers::uoffset_t(i));
    uint8_t state = uint8_t(row->state());
    if (state > uint8_t(dump::WrapperState::MAX)) {
      count("Python objects in a state that cannot be");
      state = uint8_t(dump::WrapperState::none);
    }
    const uint64_t id = in->ids() && i < in->ids()->size() ? in->ids()->Get(flatbuffers::uoffset_t(i)) : 0;
    objects_.push_back({row->tensor(),
                        {str(row->type_name()), row->references(), state, true, row->optimized() != 0,
                         row->trained() != 0, id, false, 0, ""}});
  }
  if (in->freed()) freed_serials_.assign(in->freed()->begin(), in->freed()->end());
  for (size_t i = 0; i < size_of(in->slots()); i++) {
    const dump::SlotName* row = in->slots()->Get(flatbuffers::uoffset_t(i));
    if (!texts.has(row->class_name())) {
      count("references to missing texts");
      continue;
    }
    slots_.push_back({charged(node_class(texts[row->class_name()])), str(row->name()), row->ordinal()});
  }
  for (size_t i = 0; i < size_of(in->within()); i++) {
    const dump::TensorWithin* row = in->within()->Get(flatbuffers::uoffset_t(i));
    if (row->what() > dump::ReferenceWithin::MAX) {
      count("references through what cannot be");
      continue;
    }
    within_.push_back({row->tensor(), uint8_t(row->what()), str(row->text())});
  }
  for (size_t i = 0; i < size_of(in->nodes()); i++) {
    const dump::NodeReference* row = in->nodes()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root())) continue;
    out.nodes.push_back({row->node(), uint8_t(row->root()), str(row->text()), str(row->scope())});
  }
}

uint32_t RowCollector::tensor_with(uint64_t serial) {
  uint32_t index = row_with(dump_.tensors, serial);
  if (index == kNone) count("references to missing tensors");
  return index;
}

void RowCollector::finish_graph() {
  Graph& graph = dump_.graph;
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    if (graph_serials_[i] == 0) continue;
    graph.nodes[i].seen = row_with(dump_.nodes, graph_serials_[i]);
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
  for (SlotRow& row : slots_) {
    auto known = graph_classes_.find(row.class_name);
    if (known != graph_classes_.end()) {
      graph.slot_names.try_emplace({known->second, row.ordinal}, std::move(row.name));
    }
  }
}

// A tensor's row has the C++ class of its grad_fn, which is PyNode for each function that is written in Python.
void RowCollector::name_functions() {
  const Graph& graph = dump_.graph;
  std::unordered_map<uint64_t, uint32_t> functions;
  for (uint32_t node = 0; node < graph.nodes.size(); node++) {
    const bool python = (graph.nodes[node].flags & uint8_t(dump::GraphNodeFlag::python)) != 0;
    if (python) functions.emplace(graph.nodes[node].address, node);
  }
  if (functions.empty()) return;
  for (Tensor& tensor : dump_.tensors) {
    auto found = functions.find(tensor.grad_fn);
    if (found != functions.end()) tensor.grad_fn_name = charged(graph.class_name(found->second));
  }
}

void RowCollector::finish_references() {
  References& references = dump_.references;
  if (!references.present) return name_functions();
  auto check_node = [&](uint32_t& node) {
    if (node == kNoNode || node < dump_.graph.nodes.size()) return true;
    count("references to missing autograd nodes");
    node = kNoNode;
    return false;
  };
  // Rows of one tensor together, in the order in which they came.
  std::vector<Reference>& rows = references.rows;
  references.first.assign(dump_.tensors.size() + 1, 0);
  for (size_t i = 0; i < rows.size(); i++) {
    rows[i].tensor = tensor_with(reference_serials_[i]);
    check_node(rows[i].node);
    if (rows[i].tensor != kNone) references.first[rows[i].tensor + 1]++;
  }
  for (size_t i = 1; i < references.first.size(); i++) references.first[i] += references.first[i - 1];
  std::vector<uint32_t> next(references.first.begin(), references.first.end() - 1);
  std::vector<Reference> sorted(references.first.back());
  for (Reference& row : rows) {
    if (row.tensor != kNone) sorted[next[row.tensor]++] = std::move(row);
  }
  rows = std::move(sorted);
  // C++ has one class for all functions that are written in Python; Python knows which one it is.
  for (const Reference& row : rows) {
    if (row.root != uint8_t(dump::ReferenceRoot::node) || row.node == kNoNode || row.scope.empty()) continue;
    GraphNode& node = dump_.graph.nodes[row.node];
    if ((node.flags & uint8_t(dump::GraphNodeFlag::python)) != 0) node.class_name = graph_class(charged(row.scope));
  }

  name_functions();
  references.tensors.assign(dump_.tensors.size(), {});
  for (ObjectRow& row : objects_) {
    uint32_t tensor = tensor_with(row.serial);
    if (tensor != kNone) references.tensors[tensor] = std::move(row.object);
  }
  for (const uint64_t serial : freed_serials_) {
    if (const uint32_t tensor = tensor_with(serial); tensor != kNone) references.tensors[tensor].freed = true;
  }
  for (WithinRow& row : within_) {
    const uint32_t tensor = tensor_with(row.serial);
    if (tensor == kNone || references.tensors[tensor].within != 0) continue;
    references.tensors[tensor].within = row.what;
    references.tensors[tensor].within_text = std::move(row.text);
  }
  std::erase_if(references.nodes,
                [&](NodeReference& reference) { return !check_node(reference.node) || reference.node == kNoNode; });
}

}  // namespace tensorscope::model
