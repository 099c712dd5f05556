// SPDX-License-Identifier: Apache-2.0
// The autograd graph and Python's references of a synthetic dump.
#include <algorithm>

#include "support/dump_builder.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::testing {

namespace {

using flatbuffers::FlatBufferBuilder;

template <typename Root>
Chunk finished(uint32_t type, FlatBufferBuilder& fbb, flatbuffers::Offset<Root> root) {
  fbb.FinishSizePrefixed(root);
  return {type, {reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()}};
}

// A chunk's own table of texts.
class Texts {
 public:
  uint32_t operator()(const std::string& text) {
    auto [found, fresh] = ids_.try_emplace(text, uint32_t(values_.size()));
    if (fresh) values_.push_back(text);
    return found->second;
  }
  auto write(FlatBufferBuilder& fbb) const { return fbb.CreateVectorOfStrings(values_); }

 private:
  std::vector<std::string> values_ = {""};
  std::map<std::string, uint32_t> ids_ = {{"", 0}};
};

}  // namespace

uint32_t DumpBuilder::graph_node(const GraphNodeSpec& node) {
  has_graph = true;
  graph_.push_back(node);
  if (node.address == 0) graph_.back().address = 0x600000000000 + graph_.size() * 512;
  return uint32_t(graph_.size() - 1);
}

void DumpBuilder::slot_name(std::string_view class_name, uint16_t ordinal, std::string_view name) {
  has_references = true;
  slots_.push_back({std::string(class_name), std::string(name), ordinal});
}

void DumpBuilder::reference(const ReferenceSpec& reference) {
  has_references = true;
  references_.push_back(reference);
}

void DumpBuilder::tensor_object(const TensorObjectSpec& object) {
  has_references = true;
  objects_.push_back(object);
}

void DumpBuilder::found_only(const std::function<bool(const ReferenceSpec&)>& found) {
  std::erase_if(references_, [&](const ReferenceSpec& row) { return !found(row); });
  std::erase_if(objects_, [&](const TensorObjectSpec& object) {
    return std::none_of(references_.begin(), references_.end(),
                        [&](const ReferenceSpec& row) { return row.tensor == object.tensor; });
  });
  references_complete = false;
}

void DumpBuilder::node_reference(uint32_t node, std::string_view text, std::string_view scope,
                                 format::ReferenceRoot root) {
  has_references = true;
  node_references_.push_back({node, std::string(text), std::string(scope), root});
}

void DumpBuilder::graph_chunks(std::vector<Chunk>& out) const {
  if (!has_graph) return;
  for (size_t first = 0; first == 0 || first < graph_.size(); first += rows_per_chunk) {
    const size_t end = std::min(first + rows_per_chunk, graph_.size());
    FlatBufferBuilder fbb;
    Texts texts;
    std::vector<format::GraphNode> nodes;
    std::vector<format::GraphEdge> edges;
    std::vector<format::SavedSlot> saved;
    for (size_t i = first; i < end; i++) {
      const GraphNodeSpec& node = graph_[i];
      nodes.emplace_back(node.address, node.serial, node.object, node.sequence, texts(node.class_name),
                         uint32_t(node.edges.size()), uint32_t(node.saved.size()), node.flags);
      edges.insert(edges.end(), node.edges.begin(), node.edges.end());
      for (const SavedSpec& slot : node.saved)
        saved.emplace_back(slot.tensor, slot.ordinal, slot.element, slot.state, slot.output);
    }
    const bool last = end == graph_.size();
    auto node_rows = fbb.CreateVectorOfStructs(nodes);
    auto edge_rows = fbb.CreateVectorOfStructs(edges);
    auto saved_rows = fbb.CreateVectorOfStructs(saved);
    auto strings = texts.write(fbb);
    auto detail = fbb.CreateString(last && !graph_complete ? "there was no time" : "");
    out.push_back(finished(
        format::kGraph, fbb,
        format::CreateGraphRows(fbb, node_rows, edge_rows, saved_rows, strings, last && graph_complete, detail)));
  }
}

Chunk DumpBuilder::reference_chunk() const {
  FlatBufferBuilder fbb;
  Texts texts;
  std::vector<format::Reference> references;
  std::vector<format::TensorWithin> within;
  std::vector<format::RunningCall> calls;
  std::vector<uint32_t> call_of, begins_at, shared_of;
  std::vector<format::SharedEntry> shared;
  std::vector<format::NamedObject> profilers_on;
  for (const std::string& name : profilers)
    profilers_on.emplace_back(texts(name), texts("train.py"), format::ReferenceRoot::global);
  std::vector<format::OtherWay> other_ways;
  std::vector<uint64_t> beginnings;
  for (const ReferenceSpec& row : references_) {
    references.emplace_back(row.tensor, texts(row.text), texts(row.scope), texts(row.holder), row.node, row.steps,
                            row.root, row.role);
    if (row.depth != 0) calls.emplace_back(row.thread, texts(row.thread_name), row.depth);
    call_of.push_back(row.depth != 0 ? uint32_t(calls.size()) : 0);
    if (row.begins_at != 0) beginnings.push_back(row.begins_at);
    begins_at.push_back(row.begins_at != 0 ? uint32_t(beginnings.size()) : 0);
    if (!row.shared.empty()) {
      shared.emplace_back(texts(row.shared), 0, uint32_t(other_ways.size()), uint32_t(row.others.size()));
    }
    shared_of.push_back(row.shared.empty() ? 0 : uint32_t(shared.size()));
    for (const OtherWaySpec& way : row.others)
      other_ways.emplace_back(texts(way.text), texts(way.scope), 0, 0, way.root);
    if (row.within != format::ReferenceWithin::nothing) within.emplace_back(row.tensor, texts(row.text), row.within);
  }
  std::vector<format::TensorObject> objects;
  for (const TensorObjectSpec& row : objects_) {
    objects.emplace_back(row.tensor, texts(row.type_name), row.references, row.state, row.optimized, row.trained);
  }
  std::vector<format::SlotName> slots;
  for (const SlotRow& row : slots_) slots.emplace_back(texts(row.class_name), texts(row.name), row.ordinal);
  std::vector<format::NodeReference> nodes;
  for (const NodeReferenceRow& row : node_references_) {
    nodes.emplace_back(texts(row.text), texts(row.scope), row.node, row.root);
  }
  std::vector<format::Container> containers;
  for (const ContainerSpec& row : containers_) {
    containers.emplace_back(row.bytes, row.entries, row.cpp_objects, texts(row.text), texts(row.scope),
                            texts(row.type_name), texts(row.entry_type), texts(row.cpp_type), 0, 0, row.root);
  }
  auto strings = texts.write(fbb);
  auto detail = fbb.CreateString(references_complete ? "" : "there was no time");
  auto reference_rows = fbb.CreateVectorOfStructs(references);
  auto object_rows = fbb.CreateVectorOfStructs(objects);
  auto within_rows = fbb.CreateVectorOfStructs(within);
  auto call_rows = fbb.CreateVectorOfStructs(calls);
  auto call_numbers = fbb.CreateVector(call_of);
  auto objects_begun_at = fbb.CreateVector(beginnings);
  auto beginning_numbers = fbb.CreateVector(begins_at);
  auto slot_rows = fbb.CreateVectorOfStructs(slots);
  auto node_rows = fbb.CreateVectorOfStructs(nodes);
  auto container_rows = fbb.CreateVectorOfStructs(containers);
  auto shared_numbers = fbb.CreateVector(shared_of);
  auto shared_rows = fbb.CreateVectorOfStructs(shared);
  auto way_rows = fbb.CreateVectorOfStructs(other_ways);
  auto profiler_rows = fbb.CreateVectorOfStructs(profilers_on);
  flatbuffers::Offset<flatbuffers::String> containers_detail;
  if (has_containers) containers_detail = fbb.CreateString(containers_complete ? "" : "there was no time");
  return finished(format::kReferences, fbb,
                  format::CreateReferences(fbb, references_complete, detail, strings, reference_rows, object_rows,
                                           slot_rows, node_rows, references_.size(), 0, names_stopped_by,
                                           names_time_limit_ms, names_memory_limit, 0, 0, 0, within_rows, call_rows,
                                           call_numbers, objects_begun_at, beginning_numbers, 0, 0, container_rows,
                                           containers_detail, shared_numbers, shared_rows, way_rows, profiler_rows));
}

}  // namespace tensorscope::testing
