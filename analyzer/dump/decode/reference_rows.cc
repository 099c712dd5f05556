// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/reference_rows.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dump/decode/flatbuffer_texts.h"
#include "dump/same_names.h"
#include "dump/sort_by_serial.h"
#include "dump/type_names.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

std::string own_text(const OwnTexts& texts, uint32_t index, Decoding& state) {
  if (texts.has(index)) return state.charged(texts[index]);
  if (index != 0) state.count("references to missing texts");
  return {};
}

// What does not exist becomes kNoNode.
bool sound_node(uint32_t& node, Decoding& state) {
  if (node == kNoNode || node < state.dump.graph.nodes.size()) return true;
  state.count("references to missing autograd nodes");
  node = kNoNode;
  return false;
}

bool sound_root(format::ReferenceRoot root, Decoding& state) {
  if (root <= format::ReferenceRoot::MAX) return true;
  state.count("references from an invalid root");
  return false;
}

// Of a list whose zeros at the end are left out.
uint32_t listed(const flatbuffers::Vector<uint32_t>* places, size_t number) {
  return places && number < places->size() ? places->Get(flatbuffers::uoffset_t(number)) : 0;
}

// A place plus 1 among `count`; UINT32_MAX: none.
uint32_t place_of(uint32_t number, size_t count, Decoding& state) {
  if (number > count) state.count("references to missing shared entries");
  return number == 0 || number > count ? UINT32_MAX : number - 1;
}

// The call whose variable a chain begins with, or the object, by their places plus 1.
Beginning beginning_at(const format::References& in, uint32_t call, uint32_t object, Decoding& state) {
  const size_t known_objects = in.beginnings() ? in.beginnings()->size() : 0;
  if (call > state.dump.references.calls.size()) state.count("references to missing calls");
  if (object > known_objects) state.count("references to missing objects");
  if (call != 0 && call <= state.dump.references.calls.size()) return state.dump.references.calls[call - 1].begin;
  if (object == 0 || object > known_objects) return {};
  return {0, 0, in.beginnings()->Get(object - 1)};
}

// Of the reference of this number.
Beginning beginning_of(const format::References& in, const flatbuffers::Vector<uint32_t>* calls,
                       const flatbuffers::Vector<uint32_t>* objects, size_t number, Decoding& state) {
  return beginning_at(in, listed(calls, number), listed(objects, number), state);
}

void add_reference_rows(const format::References& in, const OwnTexts& texts, Decoding& state) {
  make_room(state.dump.references.rows, size_of(in.references()));
  make_room(state.references.tensors, size_of(in.references()));
  SharedTexts shared(texts, state);
  for (size_t i = 0; i < size_of(in.calls()); i++) {
    const format::RunningCall* row = in.calls()->Get(flatbuffers::uoffset_t(i));
    state.dump.references.calls.push_back(
        {{row->thread(), row->depth(), 0}, own_text(texts, row->thread_name(), state)});
  }
  for (size_t i = 0; i < size_of(in.references()); i++) {
    const format::Reference* row = in.references()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root(), state)) continue;
    Reference& reference = state.dump.references.rows.emplace_back();
    reference.node = row->node();
    reference.steps = row->steps();
    reference.root = uint8_t(row->root());
    reference.role = uint8_t(row->role());
    if (row->role() > format::ReferenceRole::MAX) {
      state.count("references in an invalid role");
      reference.role = 0;
    }
    reference.text = own_text(texts, row->text(), state);
    reference.scope = shared[row->scope()];
    reference.holder = shared[row->holder()];
    reference.begin = beginning_of(in, in.call_of(), in.begins_at(), i, state);
    reference.shared = place_of(listed(in.shared_of(), i), size_of(in.shared()), state);
    state.references.tensors.push_back(row->tensor());
  }
}

void add_tensor_objects(const format::References& in, const OwnTexts& texts, Decoding& state) {
  make_room(state.references.objects, size_of(in.tensors()));
  SharedTexts shared(texts, state);
  for (size_t i = 0; i < size_of(in.tensors()); i++) {
    const format::TensorObject* row = in.tensors()->Get(flatbuffers::uoffset_t(i));
    uint8_t wrapper = uint8_t(row->state());
    if (wrapper > uint8_t(format::WrapperState::MAX)) {
      state.count("Python objects in an invalid state");
      wrapper = uint8_t(format::WrapperState::none);
    }
    const uint64_t id = in.ids() && i < in.ids()->size() ? in.ids()->Get(flatbuffers::uoffset_t(i)) : 0;
    state.references.objects.push_back({row->tensor(),
                                        {shared[row->type_name()], row->references(), wrapper, true,
                                         row->optimized() != 0, row->trained() != 0, id, false, 0, ""}});
  }
}

void add_slot_names(const format::References& in, const OwnTexts& texts, Decoding& state) {
  for (size_t i = 0; i < size_of(in.slots()); i++) {
    const format::SlotName* row = in.slots()->Get(flatbuffers::uoffset_t(i));
    if (!texts.has(row->class_name())) {
      state.count("references to missing texts");
      continue;
    }
    state.graph.slots.push_back({state.charged(last_component(class_name_of(texts[row->class_name()]))),
                                 own_text(texts, row->name(), state), row->ordinal()});
  }
}

void add_containers(const format::References& in, const OwnTexts& texts, Decoding& state) {
  References& out = state.dump.references;
  out.has_containers = in.containers_detail() != nullptr;
  out.containers_detail = charged(in.containers_detail(), state);
  make_room(out.containers, size_of(in.containers()));
  for (size_t i = 0; i < size_of(in.containers()); i++) {
    const format::Container* row = in.containers()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root(), state)) continue;
    out.containers.push_back({row->bytes(),
                              row->entries(),
                              row->cpp_objects(),
                              uint8_t(row->root()),
                              own_text(texts, row->text(), state),
                              own_text(texts, row->scope(), state),
                              own_text(texts, row->type_name(), state),
                              own_text(texts, row->entry_type(), state),
                              own_text(texts, row->cpp_type(), state),
                              beginning_at(in, row->call(), row->begins_at(), state),
                              {}});
  }
}

void add_profilers(const format::References& in, const OwnTexts& texts, Decoding& state) {
  for (size_t i = 0; i < size_of(in.profilers()); i++) {
    const format::NamedObject* row = in.profilers()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root(), state)) continue;
    Reference named;
    named.root = uint8_t(row->root());
    named.text = own_text(texts, row->text(), state);
    named.scope = own_text(texts, row->scope(), state);
    state.dump.references.profilers.push_back(named.line());
  }
}

void add_shared_entries(const format::References& in, const OwnTexts& texts, Decoding& state) {
  std::vector<SharedEntry>& out = state.dump.references.shared;
  const size_t count = size_of(in.shared()), known_ways = size_of(in.other_ways());
  make_room(out, count);
  SharedTexts shared(texts, state);
  for (size_t i = 0; i < count; i++) {
    const format::SharedEntry* row = in.shared()->Get(flatbuffers::uoffset_t(i));
    SharedEntry& entry = out.emplace_back();
    entry.text = own_text(texts, row->text(), state);
    entry.above = place_of(row->above(), count, state);
    for (size_t way = row->first_way(); way < size_t{row->first_way()} + row->ways(); way++) {
      if (way >= known_ways) {
        state.count("shared entries with missing ways");
        break;
      }
      const format::OtherWay* other = in.other_ways()->Get(flatbuffers::uoffset_t(way));
      if (!sound_root(other->root(), state)) continue;
      Reference& reference = entry.others.emplace_back();
      reference.root = uint8_t(other->root());
      reference.text = own_text(texts, other->text(), state);
      reference.scope = shared[other->scope()];
      reference.begin = beginning_at(in, other->call(), other->begins_at(), state);
    }
  }
}

// A tensor's row has the C++ class of its grad_fn, which is PyNode for each function that is written in Python.
void name_functions(Decoding& state) {
  const Graph& graph = state.dump.graph;
  std::unordered_map<uint64_t, uint32_t> functions;
  for (uint32_t node = 0; node < graph.nodes.size(); node++) {
    const bool python = (graph.nodes[node].flags & uint8_t(format::GraphNodeFlag::python)) != 0;
    if (python) functions.emplace(graph.nodes[node].address, node);
  }
  if (functions.empty()) return;
  for (Tensor& tensor : state.dump.tensors) {
    auto found = functions.find(tensor.grad_fn);
    if (found != functions.end()) tensor.grad_fn_name = SharedText(state.charged(graph.class_name(found->second)));
  }
}

// Rows of one tensor together, in the order in which they came.
void sort_references(Decoding& state) {
  References& references = state.dump.references;
  std::vector<Reference>& rows = references.rows;
  references.first.assign(state.dump.tensors.size() + 1, 0);
  bool sorted_already = true;
  uint32_t last = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    rows[i].tensor = state.tensor_with(state.references.tensors[i]);
    sound_node(rows[i].node, state);
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

}  // namespace

void decode_references(const format::References& in, Decoding& state) {
  References& out = state.dump.references;
  out.present = true;
  out.complete = in.complete();
  out.detail = charged(in.detail(), state);
  out.objects = in.objects();
  out.gil_ns = in.gil_ns();
  out.stopped_by = uint8_t(in.stopped_by());
  if (in.stopped_by() > format::NamesLimit::MAX) {
    state.count("invalid limits");
    out.stopped_by = 0;
  }
  out.time_limit_ms = in.time_limit_ms();
  out.memory_limit = in.memory_limit();
  out.memory_taken = in.memory_taken();
  out.named = size_of(in.tensors());
  if (in.freed()) state.references.freed.assign(in.freed()->begin(), in.freed()->end());
  const OwnTexts texts(in.strings());
  add_reference_rows(in, texts, state);
  add_tensor_objects(in, texts, state);
  add_slot_names(in, texts, state);
  add_containers(in, texts, state);
  add_profilers(in, texts, state);
  add_shared_entries(in, texts, state);
  for (size_t i = 0; i < size_of(in.within()); i++) {
    const format::TensorWithin* row = in.within()->Get(flatbuffers::uoffset_t(i));
    if (row->what() > format::ReferenceWithin::MAX) {
      state.count("references through an invalid object");
      continue;
    }
    state.references.within.push_back({row->tensor(), uint8_t(row->what()), own_text(texts, row->text(), state)});
  }
  for (size_t i = 0; i < size_of(in.nodes()); i++) {
    const format::NodeReference* row = in.nodes()->Get(flatbuffers::uoffset_t(i));
    if (!sound_root(row->root(), state)) continue;
    out.nodes.push_back({row->node(),
                         uint8_t(row->root()),
                         own_text(texts, row->text(), state),
                         own_text(texts, row->scope(), state),
                         beginning_of(in, in.node_call_of(), in.node_begins_at(), i, state),
                         {}});
  }
}

void finish_references(Decoding& state) {
  References& references = state.dump.references;
  if (!references.present) return name_functions(state);
  sort_references(state);
  // C++ has one class for all functions that are written in Python; Python knows which one it is.
  for (const Reference& row : references.rows) {
    if (row.root != uint8_t(format::ReferenceRoot::node) || row.node == kNoNode || row.scope.empty()) continue;
    GraphNode& node = state.dump.graph.nodes[row.node];
    if ((node.flags & uint8_t(format::GraphNodeFlag::python)) != 0)
      node.class_name = state.graph_class(state.charged(row.scope));
  }

  name_functions(state);
  References* const all[] = {&references};
  distinguish_same_names(all);
  references.tensors.assign(state.dump.tensors.size(), {});
  for (Decoding::ObjectRow& row : state.references.objects) {
    uint32_t tensor = state.tensor_with(row.serial);
    if (tensor != kNone) references.tensors[tensor] = std::move(row.object);
  }
  for (const uint64_t serial : state.references.freed) {
    if (const uint32_t tensor = state.tensor_with(serial); tensor != kNone) references.tensors[tensor].freed = true;
  }
  for (Decoding::WithinRow& row : state.references.within) {
    const uint32_t tensor = state.tensor_with(row.serial);
    if (tensor == kNone || references.tensors[tensor].within != 0) continue;
    references.tensors[tensor].within = row.what;
    references.tensors[tensor].within_text = std::move(row.text);
  }
  std::erase_if(references.nodes, [&](NodeReference& reference) {
    return !sound_node(reference.node, state) || reference.node == kNoNode;
  });
}

}  // namespace tensorscope::analyzer
