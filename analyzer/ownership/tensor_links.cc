// SPDX-License-Identifier: Apache-2.0
#include "ownership/tensor_links.h"

#include <algorithm>

#include "dump/sort_by_serial.h"
#include "dump_generated.h"
#include "support/number_map.h"

namespace tensorscope::analyzer {

using format::TensorKnown;

TensorLinks::TensorLinks(const Dump& dump) : dump_(dump) {
  const size_t count = dump.tensors.size();
  auto knows = [](const Tensor& tensor, TensorKnown what) { return (tensor.known & uint32_t(what)) != 0; };
  NumberMap tensors(count), nodes(dump.graph.nodes.size());  // by address
  for (uint32_t i = 0; i < count; i++) tensors.add(dump.tensors[i].address, i);
  for (uint32_t i = 0; i < dump.graph.nodes.size(); i++) nodes.add(dump.graph.nodes[i].address, i);
  gradient_of_.assign(count, kNone);
  grad_fn_.assign(count, kNoNode);
  for (uint32_t i = 0; i < count; i++) {
    const Tensor& tensor = dump.tensors[i];
    if (knows(tensor, TensorKnown::grad) && tensor.grad != 0) {
      const uint32_t gradient = tensors.find(tensor.grad);
      if (gradient != kNone && gradient != i && gradient_of_[gradient] == kNone) gradient_of_[gradient] = i;
    }
    if (knows(tensor, TensorKnown::grad_fn) && tensor.grad_fn != 0) grad_fn_[i] = nodes.find(tensor.grad_fn);
  }
  creator_ = grad_fn_;
  owner_.assign(count, kNone);
  ordinal_.assign(count, 0);
  parts_.assign(count, 0);
  for (const TensorPart& row : dump.parts) {
    const uint32_t ordinal = parts_[row.owner]++;
    if (owner_[row.part] != kNone || owner_[row.owner] == row.part) continue;
    owner_[row.part] = row.owner;
    ordinal_[row.part] = ordinal;
  }

  const Graph& graph = dump.graph;
  first_slot_.assign(count + 1, 0);
  auto each_slot = [&](auto take) {
    for (uint32_t node = 0; node < graph.nodes.size(); node++) {
      const GraphNode& row = graph.nodes[node];
      for (uint32_t slot = row.first_saved; slot < row.first_saved + row.saved_count; slot++) {
        const SavedSlot& saved = graph.saved[slot];
        if (saved.tensor != kNone && saved.state == uint8_t(format::SlotState::held)) take(node, slot, saved);
      }
    }
  };
  each_slot([&](uint32_t, uint32_t, const SavedSlot& saved) { first_slot_[saved.tensor + 1]++; });
  for (size_t i = 1; i <= count; i++) first_slot_[i] += first_slot_[i - 1];
  slots_.resize(first_slot_[count]);
  std::vector<uint32_t> next(first_slot_.begin(), first_slot_.end() - 1);
  each_slot([&](uint32_t node, uint32_t slot, const SavedSlot& saved) {
    slots_[next[saved.tensor]++] = {node, slot};
    if (saved.output && creator_[saved.tensor] == kNoNode) creator_[saved.tensor] = node;
  });
}

// In the order of the fields of SparseTensorImpl and SparseCsrTensorImpl (ATen/).
std::string TensorLinks::part_name(uint32_t tensor) const {
  const uint32_t owner = owner_[tensor], ordinal = ordinal_[tensor];
  const std::string& type = dump_.tensors[owner].class_name;
  if (type.ends_with("SparseTensorImpl") && parts_[owner] == 2) return ordinal == 0 ? "indices" : "values";
  if (type.ends_with("SparseCsrTensorImpl") && parts_[owner] == 3) {
    return ordinal == 0 ? "compressed indices" : ordinal == 1 ? "plain indices" : "values";
  }
  return parts_[owner] == 1 ? "wrapped tensor" : "part " + std::to_string(ordinal + 1);
}

bool TensorLinks::accumulates(uint32_t node) const {
  return (dump_.graph.nodes[node].flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0;
}

uint32_t TensorLinks::made_in_backward_of(uint32_t tensor) const {
  const uint32_t storage = dump_.tensors[tensor].storage;
  if (storage == kNone || dump_.storages[storage].allocation == kNone) return kNone;
  const uint64_t serial = dump_.allocations[dump_.storages[storage].allocation].node;
  return serial == 0 ? kNone : row_with(dump_.nodes, serial);
}

}  // namespace tensorscope::analyzer
