// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/slot_reader.h"

#include <string.h>

#include <algorithm>

#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

constexpr size_t kSlotSamples = 32;  // nodes of one class that are looked at
constexpr size_t kMaxFunctionBytes = 1024;
constexpr uint32_t kTypeOf = 8,
                   kBasicSize = 32;  // PyObject::ob_type, PyTypeObject::tp_basicsize (CPython, with the GIL)
constexpr size_t kMaxElements = INT16_MAX;
constexpr char kPySavedVariableHooks[] = "N5torch8autograd20PySavedVariableHooksE";
constexpr char kPythonHook[] = "PyFunction";
// Vectors of hooks lie between the anomaly metadata and the metadata of the inputs (torch/csrc/autograd/node.h).
constexpr size_t kHookBytes = 128;
constexpr size_t kMaxHooks = 256;

}  // namespace

// Some nodes: what is read of them, and then what they point to.
struct SlotReader::Batch {
  uint32_t begin = 0;
  SafeReads heads, fields;  // a piece a node
  SafeReads lists, hook_vectors;
  std::vector<uint32_t> hook_owners;
  size_t next_list = 0;
};

SlotReader::SlotReader(const SlotSources& sources)
    : in_(sources), finder_(sources.layout, sources.tensors, sources.undefined, sources.classes) {}

bool SlotReader::learn() {
  GraphWalk& walk = in_.walk;
  if (!read_functions()) return false;
  std::vector<std::vector<uint64_t>> members(walk.node_classes.size());
  std::vector<size_t> counts(walk.node_classes.size(), 0), taken(walk.node_classes.size(), 0);
  for (const WalkedNode& node : walk.nodes) counts[node.class_number] += node.alive;
  // Spread over the life of the program: one of every `step` nodes of a class.
  for (const WalkedNode& node : walk.nodes) {
    if (!node.alive) continue;
    const size_t step = counts[node.class_number] / kSlotSamples + 1;
    if (taken[node.class_number]++ % step == 0) members[node.class_number].push_back(node.address);
  }

  std::vector<uint64_t> addresses;
  std::vector<uint32_t> owners;
  for (uint32_t number = 0; number < members.size(); ++number) {
    const NodeKind kind = walk.node_classes[number].kind;
    if (kind != NodeKind::plain && kind != NodeKind::copy_slices) continue;
    addresses.insert(addresses.end(), members[number].begin(), members[number].end());
    owners.insert(owners.end(), members[number].size(), number);
  }
  std::vector<size_t> sizes;
  if (!in_.extents.read(addresses, sizes)) return false;
  SafeReads objects;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const size_t size = sizes[i] > in_.layout.size ? (sizes[i] - in_.layout.size) / 8 * 8 : 0;
    objects.add(addresses[i] + in_.layout.size, size);
  }
  if (!objects.run()) return false;

  std::vector<NodeSample> all;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (objects.ok(i)) all.push_back({objects.bytes(i), objects.size(i)});
  }
  if (!in_.known.saved_known && finder_.find_layout(all)) {
    in_.known.saved_known = true;
    in_.known.saved_extra_bytes = finder_.layout().extra_bytes;
  }
  finder_.use_layout(in_.known.saved_extra_bytes);

  classes_.resize(walk.node_classes.size());
  for (size_t i = 0; i < addresses.size();) {
    const uint32_t number = owners[i];
    std::vector<NodeSample> samples;
    bool size_known = false;
    for (; i < addresses.size() && owners[i] == number; ++i) {
      size_known = size_known || sizes[i] != 0;
      if (objects.ok(i)) samples.push_back({objects.bytes(i), objects.size(i)});
    }
    classes_[number].known = size_known;
    learn_class(number, samples);
  }
  return allowed_ && learn_functions();
}

void SlotReader::learn_class(uint32_t number, const std::vector<NodeSample>& samples) {
  ClassSlots& out = classes_[number];
  allowed_ = allowed_ && finder_.find_slots(samples, out.places);
  if (!out.places.empty()) {
    const SlotPlace& last = out.places.back();
    out.size = last.offset + (last.list ? 24 : finder_.layout().size());
  }
}

// Up to 2.12 a PyNode has the ctx object as the only field of its own; then it is in the slot that every node has.
bool SlotReader::read_functions() {
  if (in_.layout.pointer_words() == 1) return true;
  std::vector<uint64_t> at, objects;
  for (uint32_t n = 0; n < in_.walk.nodes.size(); ++n) {
    if (in_.walk.nodes[n].alive && kind_of(n) == NodeKind::python)
      at.push_back(in_.walk.nodes[n].address + in_.layout.size);
  }
  objects.resize(at.size());
  if (!read_words_safely(at.data(), objects.data(), at.size())) return false;
  size_t next = 0;
  for (uint32_t n = 0; n < in_.walk.nodes.size(); ++n) {
    if (in_.walk.nodes[n].alive && kind_of(n) == NodeKind::python) in_.walk.nodes[n].object = objects[next++];
  }
  return true;
}

// THPFunction::saved_variables (torch/csrc/autograd/python_function.h): a vector in the ctx object.
bool SlotReader::learn_functions() {
  if (in_.known.saved_in_function != 0) return true;
  constexpr size_t kMaxSamples = 256;
  std::vector<uint64_t> objects, types, sizes;
  for (const WalkedNode& node : in_.walk.nodes) {
    if (!node.alive || node.object == 0 || in_.walk.node_classes[node.class_number].kind != NodeKind::python) continue;
    objects.push_back(node.object);
    if (objects.size() == kMaxSamples) break;
  }
  types.resize(objects.size());
  sizes.resize(objects.size());
  std::vector<uint64_t> at;
  for (uint64_t object : objects) at.push_back(object + kTypeOf);
  if (!read_words_safely(at.data(), types.data(), at.size())) return false;
  for (size_t i = 0; i < at.size(); ++i) at[i] = types[i] + kBasicSize;
  if (!read_words_safely(at.data(), sizes.data(), at.size())) return false;
  SafeReads reads;
  for (size_t i = 0; i < objects.size(); ++i) {
    reads.add(objects[i], std::min<size_t>(sizes[i] / 8 * 8, kMaxFunctionBytes));
  }
  if (!reads.run()) return false;
  size_t most = 0;
  for (uint32_t extra : SlotFinder::kExtraBytes) {
    if (in_.known.saved_known && extra != in_.known.saved_extra_bytes) continue;
    finder_.use_layout(extra);
    size_t votes[kMaxFunctionBytes / 8] = {};
    for (size_t i = 0; i < objects.size(); ++i) {
      std::vector<SlotPlace> places;
      if (!reads.ok(i)) continue;
      if (!finder_.find_slots({{reads.bytes(i), reads.size(i)}}, places)) return false;
      for (const SlotPlace& place : places) votes[place.offset / 8] += place.list;
    }
    const auto best = std::max_element(std::begin(votes), std::end(votes));
    if (*best <= most) continue;
    most = *best;
    in_.known.saved_in_function = uint32_t(best - votes) * 8;
    in_.known.saved_extra_bytes = extra;
  }
  finder_.use_layout(in_.known.saved_extra_bytes);
  in_.known.saved_known = in_.known.saved_known || most > 0;
  return true;
}

bool SlotReader::read(size_t begin, size_t end) {
  Batch batch;
  batch.begin = uint32_t(begin);
  nodes.resize(end);
  for (uint32_t n = batch.begin; n < end; ++n) add_fields(n, batch);
  if (!batch.heads.run() || !batch.fields.run()) return false;
  for (uint32_t n = batch.begin; n < end; ++n) add_lists(n, batch);
  if (!batch.lists.run() || !batch.hook_vectors.run()) return false;
  const size_t first_slot = slots.size();
  for (uint32_t n = batch.begin; n < end; ++n) add_slots(n, batch);
  return read_packed(first_slot) && read_hooks(batch);
}

void SlotReader::add_fields(uint32_t number, Batch& batch) {
  const WalkedNode& node = in_.walk.nodes[number];
  const uint32_t head = std::min<uint32_t>(in_.layout.hooks() + kHookBytes, in_.layout.size);
  batch.heads.add(node.address, node.alive ? head : 0);
  const NodeKind kind = kind_of(number);
  if (!node.alive) {
    batch.fields.add(0, 0);
  } else if (kind == NodeKind::accumulates) {
    batch.fields.add(node.address + in_.layout.size, 8);
  } else if (kind == NodeKind::python) {
    const bool saves = in_.known.saved_in_function != 0 && node.object != 0;
    batch.fields.add(node.object + in_.known.saved_in_function, saves ? 24 : 0);
  } else {
    batch.fields.add(node.address + in_.layout.size, classes_[node.class_number].size);
  }
}

void SlotReader::add_list(const VectorWords& list, Batch& batch) {
  const size_t stride = finder_.layout().size();
  const bool sound = list.plausible() && list.bytes() % stride == 0;
  batch.lists.add(list.begin, sound ? std::min<size_t>(size_t(list.bytes()), kMaxElements * stride) : 0);
}

void SlotReader::add_lists(uint32_t number, Batch& batch) {
  const size_t piece = number - batch.begin;
  if (batch.fields.ok(piece)) {
    if (kind_of(number) == NodeKind::python) add_list(vector_at(batch.fields.bytes(piece), 0), batch);
    if (kind_of(number) == NodeKind::plain || kind_of(number) == NodeKind::copy_slices) {
      for (const SlotPlace& place : classes_[in_.walk.nodes[number].class_number].places) {
        if (place.list) add_list(vector_at(batch.fields.bytes(piece), place.offset), batch);
      }
    }
  }
  if (!batch.heads.ok(piece)) return;
  for (size_t at = in_.layout.hooks(); at + 24 <= batch.heads.size(piece); at += 8) {
    const VectorWords v = vector_at(batch.heads.bytes(piece), at);
    if (!v.plausible() || v.bytes() == 0 || v.bytes() % 8 != 0 || v.bytes() > kMaxHooks * 8) continue;
    batch.hook_vectors.add(v.begin, v.bytes());
    batch.hook_owners.push_back(number);
  }
}

void SlotReader::add_slots(uint32_t number, Batch& batch) {
  NodeSlots& out = nodes[number];
  out.first = uint32_t(slots.size());
  const size_t piece = number - batch.begin;
  const WalkedNode& node = in_.walk.nodes[number];
  if (!node.alive || !batch.heads.ok(piece)) return;
  if (in_.layout.sequence != 0) out.sequence = batch.heads.word(piece, in_.layout.sequence);
  const bool by_class = kind_of(number) == NodeKind::plain || kind_of(number) == NodeKind::copy_slices;
  out.whole =
      (batch.fields.size(piece) == 0 || batch.fields.ok(piece)) && (!by_class || classes_[node.class_number].known);
  if (!batch.fields.ok(piece)) return;
  const unsigned char* fields = batch.fields.bytes(piece);

  switch (kind_of(number)) {
    case NodeKind::accumulates: {
      WalkedSlot slot;
      slot.tensor = word_at(fields, 0);
      if (slot.tensor == in_.undefined) slot.tensor = 0;
      slots.push_back(slot);
      break;
    }
    case NodeKind::python:
      add_elements(number, 0, vector_at(fields, 0), batch);
      break;
    case NodeKind::plain:
    case NodeKind::copy_slices: {
      const ClassSlots& slots_of = classes_[node.class_number];
      for (size_t i = 0; i < slots_of.places.size(); ++i) {
        const SlotPlace& place = slots_of.places[i];
        if (place.list) {
          add_elements(number, uint16_t(i), vector_at(fields, place.offset), batch);
        } else {
          add_saved(number, fields + place.offset, uint16_t(i), -1);
        }
      }
      break;
    }
    case NodeKind::none:
      break;
  }
  out.count = uint32_t(slots.size()) - out.first;
}

void SlotReader::add_elements(uint32_t number, uint16_t ordinal, const VectorWords& list, Batch& batch) {
  const size_t piece = batch.next_list++;
  if (batch.lists.ok(piece)) {
    const size_t stride = finder_.layout().size();
    const size_t count = batch.lists.size(piece) / stride;
    for (size_t i = 0; i < count; ++i) {
      add_saved(number, batch.lists.bytes(piece) + i * stride, ordinal, int16_t(i));
    }
    if (list.bytes() / stride > count) nodes[number].whole = false;
  } else if (batch.lists.size(piece) != 0 || !list.plausible() || list.bytes() != 0) {
    nodes[number].whole = false;
  } else if (list.capacity != 0) {  // it had elements, and backward let them go
    WalkedSlot slot;
    slot.ordinal = ordinal;
    slot.element = 0;
    slots.push_back(slot);
  }
}

void SlotReader::add_saved(uint32_t number, const unsigned char* bytes, uint16_t ordinal, int16_t element) {
  SavedFields fields;
  WalkedSlot slot;
  slot.ordinal = ordinal;
  slot.element = element;
  if (read_saved(finder_.layout(), bytes, in_.undefined, fields)) {
    slot.tensor = fields.tensor;
    slot.hooks = fields.hooks;
    slot.output = fields.output;
  } else {
    nodes[number].whole = false;
  }
  slots.push_back(slot);
}

// PySavedVariableHooks (torch/csrc/autograd/python_saved_variable_hooks.h): vtable, pack_hook_, unpack_hook_, data_.
bool SlotReader::read_packed(size_t first_slot) {
  SafeReads reads;
  std::vector<size_t> of;
  for (size_t i = first_slot; i < slots.size(); ++i) {
    if (slots[i].hooks == 0) continue;
    reads.add(slots[i].hooks, 32);
    of.push_back(i);
  }
  if (of.empty()) return true;
  if (!reads.run()) return false;
  for (size_t i = 0; i < of.size(); ++i) {
    if (!reads.ok(i) || strcmp(in_.classes.by_vtable(reads.word(i, 0)), kPySavedVariableHooks) != 0) continue;
    const auto owner = std::upper_bound(nodes.begin(), nodes.end(), of[i],
                                        [](size_t slot, const NodeSlots& node) { return slot < node.first; });
    const WalkedSlot& slot = slots[of[i]];
    packed.push_back({uint32_t(owner - nodes.begin()) - 1, slot.ordinal, slot.element, reads.word(i, 8),
                      reads.word(i, 16), reads.word(i, 24)});
  }
  return true;
}

// PyFunctionPreHook, PyFunctionTensorPreHook, PyFunctionPostHook (torch/csrc/autograd/python_hook.h): vtable, dict.
bool SlotReader::read_hooks(const Batch& batch) {
  SafeReads reads;
  std::vector<uint32_t> owners;
  for (size_t i = 0; i < batch.hook_owners.size(); ++i) {
    if (!batch.hook_vectors.ok(i)) continue;
    for (size_t at = 0; at < batch.hook_vectors.size(i); at += 8) {
      reads.add(batch.hook_vectors.word(i, at), 16);
      owners.push_back(batch.hook_owners[i]);
    }
  }
  if (owners.empty()) return true;
  if (!reads.run()) return false;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (!reads.ok(i)) continue;
    const char* name = in_.classes.by_vtable(reads.word(i, 0));
    if (strstr(name, kPythonHook) != nullptr) hooks.push_back({owners[i], reads.word(i, 8)});
  }
  return true;
}

}  // namespace tensorscope::torch
