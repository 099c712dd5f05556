// The part of RowCollector that reads Python's references. Numbers of nodes and serials of tensors are resolved in
// finish_references(), once everything that they may point to is there.
#include <algorithm>
#include <utility>

#include "dump/row_collector_verify.h"
#include "dump/same_names.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

std::string RowCollector::own_text(const OwnTexts& texts, uint32_t index) {
  if (texts.has(index)) return charged(texts[index]);
  if (index != 0) count("references to missing texts");
  return {};
}

bool RowCollector::sound_root(format::ReferenceRoot root) {
  if (root <= format::ReferenceRoot::MAX) return true;
  count("references from an invalid root");
  return false;
}

void RowCollector::add_references(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::References>(chunk);
  if (!in) return;
  References& out = dump_.references;
  out.present = true;
  out.complete = in->complete();
  if (in->detail()) out.detail = charged(in->detail()->string_view());
  out.objects = in->objects();
  out.gil_ns = in->gil_ns();
  out.stopped_by = uint8_t(in->stopped_by());
  if (in->stopped_by() > format::NamesLimit::MAX) {
    count("invalid limits");
    out.stopped_by = 0;
  }
  out.time_limit_ms = in->time_limit_ms();
  out.memory_limit = in->memory_limit();
  out.memory_taken = in->memory_taken();
  out.named = size_of(in->tensors());
  if (in->freed()) freed_serials_.assign(in->freed()->begin(), in->freed()->end());
  const OwnTexts texts(in->strings());
  add_reference_rows(*in, texts);
  add_tensor_objects(*in, texts);
  add_slot_names(*in, texts);
  for (size_t i = 0; i < size_of(in->within()); i++) {
    const format::TensorWithin* row = in->within()->Get(flatbuffers::uoffset_t(i));
    if (row->what() > format::ReferenceWithin::MAX) {
      count("references through an invalid object");
      continue;
    }
    within_.push_back({row->tensor(), uint8_t(row->what()), own_text(texts, row->text())});
  }
  for (size_t i = 0; i < size_of(in->nodes()); i++) {
    const format::NodeReference* row = in->nodes()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root())) continue;
    out.nodes.push_back({row->node(),
                         uint8_t(row->root()),
                         own_text(texts, row->text()),
                         own_text(texts, row->scope()),
                         beginning_of(*in, in->node_call_of(), in->node_begins_at(), i),
                         {}});
  }
}

// Of the reference of this number: the call whose variable it begins with, or the object.
Beginning RowCollector::beginning_of(const format::References& in, const flatbuffers::Vector<uint32_t>* calls,
                                     const flatbuffers::Vector<uint32_t>* objects, size_t number) {
  const auto listed = [number](const flatbuffers::Vector<uint32_t>* places) {
    return places && number < places->size() ? places->Get(flatbuffers::uoffset_t(number)) : 0;
  };
  const uint32_t call = listed(calls), object = listed(objects);
  const size_t known_objects = in.beginnings() ? in.beginnings()->size() : 0;
  if (call > dump_.references.calls.size()) count("references to missing calls");
  if (object > known_objects) count("references to missing objects");
  if (call != 0 && call <= dump_.references.calls.size()) return dump_.references.calls[call - 1].begin;
  if (object == 0 || object > known_objects) return {};
  return {0, 0, in.beginnings()->Get(object - 1)};
}

void RowCollector::add_reference_rows(const format::References& in, const OwnTexts& texts) {
  make_room(dump_.references.rows, size_of(in.references()));
  make_room(reference_serials_, size_of(in.references()));
  for (size_t i = 0; i < size_of(in.calls()); i++) {
    const format::RunningCall* row = in.calls()->Get(flatbuffers::uoffset_t(i));
    dump_.references.calls.push_back({{row->thread(), row->depth(), 0}, own_text(texts, row->thread_name())});
  }
  for (size_t i = 0; i < size_of(in.references()); i++) {
    const format::Reference* row = in.references()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root())) continue;
    Reference& reference = dump_.references.rows.emplace_back();
    reference.node = row->node();
    reference.steps = row->steps();
    reference.root = uint8_t(row->root());
    reference.role = uint8_t(row->role());
    if (row->role() > format::ReferenceRole::MAX) {
      count("references in an invalid role");
      reference.role = 0;
    }
    reference.text = own_text(texts, row->text());
    reference.scope = own_text(texts, row->scope());
    reference.holder = own_text(texts, row->holder());
    reference.begin = beginning_of(in, in.call_of(), in.begins_at(), i);
    reference_serials_.push_back(row->tensor());
  }
}

void RowCollector::add_tensor_objects(const format::References& in, const OwnTexts& texts) {
  make_room(objects_, size_of(in.tensors()));
  for (size_t i = 0; i < size_of(in.tensors()); i++) {
    const format::TensorObject* row = in.tensors()->Get(flatbuffers::uoffset_t(i));
    uint8_t state = uint8_t(row->state());
    if (state > uint8_t(format::WrapperState::MAX)) {
      count("Python objects in an invalid state");
      state = uint8_t(format::WrapperState::none);
    }
    const uint64_t id = in.ids() && i < in.ids()->size() ? in.ids()->Get(flatbuffers::uoffset_t(i)) : 0;
    objects_.push_back({row->tensor(),
                        {own_text(texts, row->type_name()), row->references(), state, true, row->optimized() != 0,
                         row->trained() != 0, id, false, 0, ""}});
  }
}

void RowCollector::add_slot_names(const format::References& in, const OwnTexts& texts) {
  for (size_t i = 0; i < size_of(in.slots()); i++) {
    const format::SlotName* row = in.slots()->Get(flatbuffers::uoffset_t(i));
    if (!texts.has(row->class_name())) {
      count("references to missing texts");
      continue;
    }
    slots_.push_back({charged(node_class(texts[row->class_name()])), own_text(texts, row->name()), row->ordinal()});
  }
}

// A tensor's row has the C++ class of its grad_fn, which is PyNode for each function that is written in Python.
void RowCollector::name_functions() {
  const Graph& graph = dump_.graph;
  std::unordered_map<uint64_t, uint32_t> functions;
  for (uint32_t node = 0; node < graph.nodes.size(); node++) {
    const bool python = (graph.nodes[node].flags & uint8_t(format::GraphNodeFlag::python)) != 0;
    if (python) functions.emplace(graph.nodes[node].address, node);
  }
  if (functions.empty()) return;
  for (Tensor& tensor : dump_.tensors) {
    auto found = functions.find(tensor.grad_fn);
    if (found != functions.end()) tensor.grad_fn_name = charged(graph.class_name(found->second));
  }
}

bool RowCollector::sound_node(uint32_t& node) {
  if (node == kNoNode || node < dump_.graph.nodes.size()) return true;
  count("references to missing autograd nodes");
  node = kNoNode;
  return false;
}

// Rows of one tensor together, in the order in which they came.
void RowCollector::sort_references() {
  References& references = dump_.references;
  std::vector<Reference>& rows = references.rows;
  references.first.assign(dump_.tensors.size() + 1, 0);
  bool sorted_already = true;
  uint32_t last = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    rows[i].tensor = tensor_with(reference_serials_[i]);
    sound_node(rows[i].node);
    sorted_already = sorted_already && rows[i].tensor != kNone && rows[i].tensor >= last;
    last = rows[i].tensor;
    if (rows[i].tensor != kNone) references.first[rows[i].tensor + 1]++;
  }
  for (size_t i = 1; i < references.first.size(); i++) references.first[i] += references.first[i - 1];
  if (sorted_already) return;
  std::vector<uint32_t> next(references.first.begin(), references.first.end() - 1);
  std::vector<Reference> sorted(references.first.back());
  for (Reference& row : rows) {
    if (row.tensor != kNone) sorted[next[row.tensor]++] = std::move(row);
  }
  rows = std::move(sorted);
}

void RowCollector::finish_references() {
  References& references = dump_.references;
  if (!references.present) return name_functions();
  sort_references();
  // C++ has one class for all functions that are written in Python; Python knows which one it is.
  for (const Reference& row : references.rows) {
    if (row.root != uint8_t(format::ReferenceRoot::node) || row.node == kNoNode || row.scope.empty()) continue;
    GraphNode& node = dump_.graph.nodes[row.node];
    if ((node.flags & uint8_t(format::GraphNodeFlag::python)) != 0) node.class_name = graph_class(charged(row.scope));
  }

  name_functions();
  References* const all[] = {&references};
  tell_same_names_apart(all);
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
                [&](NodeReference& reference) { return !sound_node(reference.node) || reference.node == kNoNode; });
}

}  // namespace tensorscope::analyzer
