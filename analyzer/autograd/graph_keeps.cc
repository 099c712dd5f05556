// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_keeps.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;
using format::SlotState;

constexpr size_t kMaxRows = 16;  // REFS lists no more for one tensor

}  // namespace

GraphKeeps::GraphKeeps(const Dump& dump, const GraphWalk& walk, const GraphTensors& tensors)
    : dump_(dump),
      graph_(dump.graph),
      tensors_(tensors),
      walk_(walk),
      certain_(dump.references.present && dump.references.complete && !dump.process.python_version.empty()),
      node_holders_(graph_.nodes.size()),
      tensor_holders_(dump.tensors.size()),
      gradients_(dump.tensors.size(), kNone),
      reached_(graph_.nodes.size()),
      node_freed_(graph_.nodes.size()),
      tensor_freed_(dump.tensors.size()),
      kept_at_(dump.storages.size(), kNone),
      freed_in_(dump.storages.size()) {
  count_node_holders();
  count_tensor_holders();
  count_python();
  count_views();
}

void GraphKeeps::count_node_holders() {
  for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    uint32_t& count = node_holders_[node].count;
    count = uint32_t(walk_.users_of(node).size()) + (walk_.is_inner(node) ? 1 : 0);
    if (!walk_.accumulates(node)) count += uint32_t(tensors_.tensors_of(node).size());  // a leaf's link is a weak one
  }
  for (const NodeReference& reference : dump_.references.nodes) {
    if (reference.node < node_holders_.size()) node_holders_[reference.node].outside = true;
  }
}

void GraphKeeps::count_tensor_holders() {
  for (const SavedSlot& slot : graph_.saved) {
    if (slot.tensor != kNone && slot.state == uint8_t(SlotState::held)) ++tensor_holders_[slot.tensor].count;
  }
  std::unordered_map<uint64_t, uint32_t> by_address;
  for (uint32_t tensor = 0; tensor < dump_.tensors.size(); ++tensor) {
    by_address[dump_.tensors[tensor].address] = tensor;
  }
  for (uint32_t tensor = 0; tensor < dump_.tensors.size(); ++tensor) {
    if (dump_.tensors[tensor].grad == 0) continue;
    auto found = by_address.find(dump_.tensors[tensor].grad);
    if (found == by_address.end()) continue;
    gradients_[tensor] = found->second;
    ++tensor_holders_[found->second].count;
  }
}

void GraphKeeps::count_python() {
  const References& references = dump_.references;
  std::vector<std::pair<uint32_t, uint32_t>> held;
  for (uint32_t number = 0; number < references.rows.size(); ++number) {
    const Reference& row = references.rows[number];
    if (row.tensor >= tensor_holders_.size()) continue;
    const auto root = ReferenceRoot(row.root);
    if (root == ReferenceRoot::user || root == ReferenceRoot::output) continue;  // names, no holders
    if (root == ReferenceRoot::node && row.node < graph_.nodes.size()) {
      held.emplace_back(row.node, number);
      ++tensor_holders_[row.tensor].count;
    } else {
      tensor_holders_[row.tensor].outside = true;
    }
  }
  for (uint32_t tensor = 0; tensor < references.tensors.size() && tensor < tensor_holders_.size(); ++tensor) {
    const TensorObject& object = references.tensors[tensor];
    const size_t rows = references.of(tensor).size();
    const bool referenced = object.known && object.state == uint8_t(format::WrapperState::referenced);
    if (referenced && (rows == 0 || (rows >= kMaxRows && object.references > rows))) {
      tensor_holders_[tensor].outside = true;
    }
  }
  python_held_ = NumberLists(graph_.nodes.size(), held);
}

// A tensor without any holder that has views is held by these; one that has none is held by something in C++.
void GraphKeeps::count_views() {
  std::vector<std::pair<uint32_t, uint32_t>> bases;
  for (uint32_t tensor = 0; tensor < tensor_holders_.size(); ++tensor) {
    Holders& holders = tensor_holders_[tensor];
    if (holders.count != 0 || holders.outside) continue;
    const Tensor& entry = dump_.tensors[tensor];
    if (entry.storage != kNone && !entry.is_view()) {
      for (uint32_t other : dump_.storages[entry.storage].tensors) {
        if (!dump_.tensors[other].is_view()) continue;
        bases.emplace_back(other, tensor);
        ++holders.count;
      }
    }
    if (holders.count == 0) holders.outside = true;
  }
  bases_ = NumberLists(tensor_holders_.size(), bases);
}

void GraphKeeps::drop(std::vector<Holders>& holders, uint32_t index, std::vector<uint32_t>& dropped,
                      std::vector<uint8_t>& freed, std::vector<uint32_t>& queue) {
  dropped.push_back(index);
  if (--holders[index].count != 0 || holders[index].outside || freed[index] != 0) return;
  freed[index] = 1;
  queue.push_back(index);
}

void GraphKeeps::free_node(uint32_t node) {
  if (has_inner(node)) drop(node_holders_, node + 1, dropped_nodes_, node_freed_, node_queue_);
  for (const GraphEdge& edge : graph_.edges_of(node)) {
    if (edge.node != kNoNode) drop(node_holders_, edge.node, dropped_nodes_, node_freed_, node_queue_);
  }
  auto drop_held = [&](uint32_t tensor) {
    drop(tensor_holders_, tensor, dropped_tensors_, tensor_freed_, tensor_queue_);
  };
  for (const SavedSlot& slot : graph_.saved_of(node)) {
    if (slot.tensor != kNone && slot.state == uint8_t(SlotState::held)) drop_held(slot.tensor);
  }
  for (uint32_t row : python_held_.of(node)) drop_held(dump_.references.rows[row].tensor);
}

void GraphKeeps::free_tensor(uint32_t tensor) {
  const uint32_t node = tensors_.node_of(tensor);
  if (node != kNoNode && !walk_.accumulates(node)) {
    drop(node_holders_, node, dropped_nodes_, node_freed_, node_queue_);
  }
  auto drop_held = [&](uint32_t other) {
    drop(tensor_holders_, other, dropped_tensors_, tensor_freed_, tensor_queue_);
  };
  if (gradients_[tensor] != kNone) drop_held(gradients_[tensor]);
  for (uint32_t base : bases_.of(tensor)) drop_held(base);
}

void GraphKeeps::free_with(std::span<const uint32_t> roots) {
  for (uint32_t root : roots) {
    if (node_freed_[root] != 0 || walk_.accumulates(root)) continue;
    node_freed_[root] = 1;
    node_queue_.push_back(root);
    for (uint32_t tensor : tensors_.tensors_of(root)) {
      if (tensor_freed_[tensor] != 0) continue;
      tensor_freed_[tensor] = 1;
      tensor_queue_.push_back(tensor);
    }
  }
  for (size_t node = 0, tensor = 0; node < node_queue_.size() || tensor < tensor_queue_.size();) {
    if (node < node_queue_.size()) {
      free_node(node_queue_[node++]);
    } else {
      free_tensor(tensor_queue_[tensor++]);
    }
  }
}

std::vector<uint32_t> GraphKeeps::nodes_below(std::span<const uint32_t> roots) {
  std::vector<uint32_t> nodes;
  auto visit = [&](uint32_t node) {
    if (reached_[node] != 0) return;
    reached_[node] = 1;
    nodes.push_back(node);
  };
  for (uint32_t root : roots) visit(root);
  for (size_t at = 0; at < nodes.size(); ++at) {
    if (has_inner(nodes[at])) visit(nodes[at] + 1);
    for (const GraphEdge& edge : graph_.edges_of(nodes[at])) {
      if (edge.node != kNoNode) visit(edge.node);
    }
  }
  return nodes;
}

KeptStorage* GraphKeeps::entry_of(uint32_t tensor, uint32_t node, Kept& kept) {
  const uint32_t storage = tensor == kNone ? kNone : dump_.tensors[tensor].storage;
  if (storage == kNone) {
    ++kept.without_storage;
    return nullptr;
  }
  if (kept_at_[storage] == kNone) {
    kept_at_[storage] = uint32_t(kept.storages.size());
    KeptStorage& entry = kept.storages.emplace_back();
    entry.storage = storage;
    entry.bytes = dump_.storages[storage].own_nbytes;
    entry.tensor = tensor;
    entry.node = node;
  }
  return &kept.storages[kept_at_[storage]];
}

void GraphKeeps::collect(uint32_t node, Kept& kept) {
  const bool leaf = walk_.accumulates(node);
  if (leaf) ++kept.leaves;
  for (uint32_t i = 0; i < graph_.nodes[node].saved_count; ++i) {
    const uint32_t index = graph_.nodes[node].first_saved + i;
    const SavedSlot& slot = graph_.saved[index];
    if (slot.state == uint8_t(SlotState::packed)) ++kept.packed_slots;
    if (slot.state == uint8_t(SlotState::empty)) ++kept.empty_slots;
    if (slot.state != uint8_t(SlotState::held)) continue;
    if (!leaf) ++kept.held_slots;
    KeptStorage* entry = entry_of(slot.tensor, node, kept);
    if (entry == nullptr) continue;
    ++entry->slots;
    // A leaf is a leaf, whatever saved a view of it.
    auto place = [&](uint32_t at) { return std::tuple(!walk_.accumulates(at), graph_.nodes[at].sequence, at); };
    if ((entry->slot == kNone && entry->reference == kNone) || place(node) < place(entry->node)) {
      entry->tensor = slot.tensor, entry->node = node, entry->slot = index, entry->reference = kNone;
    }
  }
}

// What a custom Function's ctx, a value packed by hooks or a hook's closure holds.
void GraphKeeps::collect_python(uint32_t node, Kept& kept) {
  for (uint32_t row : python_held_.of(node)) {
    ++kept.python_held;
    KeptStorage* entry = entry_of(dump_.references.rows[row].tensor, node, kept);
    if (entry == nullptr) continue;
    ++entry->slots;
    if (entry->slot == kNone && entry->reference == kNone) entry->reference = row;
  }
}

Kept GraphKeeps::below(std::span<const uint32_t> roots) {
  Kept kept;
  const std::vector<uint32_t> nodes = nodes_below(roots);
  for (uint32_t node : nodes) collect(node, kept);
  for (uint32_t node : nodes) collect_python(node, kept);  // after all slots: a saved tensor is called by its slot
  free_with(roots);
  kept.nodes = nodes.size();
  for (uint32_t node : nodes) kept.freed_nodes += node_freed_[node];
  for (uint32_t tensor : tensor_queue_) {
    if (dump_.tensors[tensor].storage != kNone) ++freed_in_[dump_.tensors[tensor].storage];
  }
  for (KeptStorage& entry : kept.storages) {
    entry.only = freed_in_[entry.storage] == dump_.storages[entry.storage].tensors.size();
    kept.bytes += entry.bytes;
    if (entry.only) kept.only_bytes += entry.bytes;
    kept_at_[entry.storage] = kNone;
  }
  std::sort(kept.storages.begin(), kept.storages.end(), [](const KeptStorage& a, const KeptStorage& b) {
    return std::tuple(b.bytes, a.storage) < std::tuple(a.bytes, b.storage);
  });
  for (uint32_t node : nodes) reached_[node] = 0;
  restore();
  return kept;
}

void GraphKeeps::restore() {
  for (uint32_t node : dropped_nodes_) ++node_holders_[node].count;
  for (uint32_t tensor : dropped_tensors_) ++tensor_holders_[tensor].count;
  for (uint32_t node : node_queue_) node_freed_[node] = 0;
  for (uint32_t tensor : tensor_queue_) {
    tensor_freed_[tensor] = 0;
    if (dump_.tensors[tensor].storage != kNone) freed_in_[dump_.tensors[tensor].storage] = 0;
  }
  dropped_nodes_.clear(), dropped_tensors_.clear(), node_queue_.clear(), tensor_queue_.clear();
}

}  // namespace tensorscope::analyzer
