// SPDX-License-Identifier: Apache-2.0
#include "leaks/retention.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "dump_generated.h"

namespace tensorscope::analyzer {

using format::ReferenceRoot;
using format::SlotState;

bool holds(const SavedSlot& slot) { return slot.tensor != kNone && slot.state == uint8_t(SlotState::held); }

bool holds(const Reference& reference) {
  const auto root = ReferenceRoot(reference.root);
  return root != ReferenceRoot::user && root != ReferenceRoot::output && root != ReferenceRoot::node;
}

bool keeps(const References& all, const Reference& reference) {
  const auto in_use = [](const Reference& other) {
    return holds(other) && ReferenceRoot(other.root) != ReferenceRoot::cycle;
  };
  if (ReferenceRoot(reference.root) != ReferenceRoot::cycle) return holds(reference);
  return std::ranges::none_of(all.of(reference.tensor), in_use);
}

Retention::Retention(const Dump& dump, const Accounts& accounts) : dump_(dump), accounts_(accounts) {
  const size_t tensors = dump.tensors.size();
  node_of_.assign(tensors, kNoNode);
  gradient_.assign(tensors, kNone);
  base_.assign(tensors, kNone);
  roots_.assign(tensors, Root::none);
  mere_bases_.assign(tensors, false);
  node_roots_.assign(dump.graph.nodes.size(), false);
  link();
  find_roots();
}

bool Retention::accumulates(uint32_t node) const {
  return (dump_.graph.nodes[node].flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0;
}

uint32_t Retention::leaf_of_cast(uint32_t tensor) const {
  const Graph& graph = dump_.graph;
  const uint32_t node = node_of_[tensor];
  if (node == kNoNode || graph.class_name(node) != "ToCopyBackward0" || graph.edges_of(node).empty()) return kNoNode;
  const uint32_t leaf = graph.edges_of(node)[0].node;
  return leaf != kNoNode && accumulates(leaf) ? leaf : kNoNode;
}

void Retention::link() {
  std::unordered_map<uint64_t, uint32_t> tensor_at, node_at;
  for (uint32_t i = 0; i < dump_.tensors.size(); ++i) tensor_at.emplace(dump_.tensors[i].address, i);
  for (uint32_t i = 0; i < dump_.graph.nodes.size(); ++i) node_at.emplace(dump_.graph.nodes[i].address, i);
  for (uint32_t i = 0; i < dump_.tensors.size(); ++i) {
    const Tensor& tensor = dump_.tensors[i];
    if (auto found = node_at.find(tensor.grad_fn); tensor.grad_fn != 0 && found != node_at.end()) {
      node_of_[i] = found->second;
    }
    if (auto found = tensor_at.find(tensor.grad); tensor.grad != 0 && found != tensor_at.end()) {
      gradient_[i] = found->second;
    }
  }
  for (const TensorPart& row : dump_.parts) parts_[row.owner].push_back(row.part);
  for (const Reference& row : dump_.references.rows) {
    if (ReferenceRoot(row.root) != ReferenceRoot::node || row.node >= dump_.graph.nodes.size()) continue;
    python_saved_.resize(dump_.graph.nodes.size());
    python_saved_[row.node].push_back(row.tensor);
  }
}

bool Retention::looked_at(uint32_t tensor) const {
  const References& references = dump_.references;
  return !references.present || references.complete || references.tensors[tensor].known;
}

void Retention::find_roots() {
  std::vector<bool> linked(dump_.tensors.size()), node_linked(dump_.graph.nodes.size());
  for (uint32_t gradient : gradient_) {
    if (gradient != kNone) linked[gradient] = true;
  }
  for (const TensorPart& row : dump_.parts) linked[row.part] = true;
  for (const SavedSlot& slot : dump_.graph.saved) {
    if (holds(slot)) linked[slot.tensor] = true;
  }
  for (const auto& saved : python_saved_) {
    for (uint32_t tensor : saved) linked[tensor] = true;
  }
  for (const GraphEdge& edge : dump_.graph.edges) {
    if (edge.node != kNoNode) node_linked[edge.node] = true;
  }
  for (uint32_t node : node_of_) {
    if (node != kNoNode) node_linked[node] = true;
  }
  // What another node's Python object refers to lives as long as that node.
  for (const NodeReference& row : dump_.references.nodes) {
    if (row.node < node_roots_.size() && ReferenceRoot(row.root) != ReferenceRoot::node) node_roots_[row.node] = true;
  }
  for (uint32_t i = 0; i < node_roots_.size(); ++i) node_roots_[i] = node_roots_[i] || !node_linked[i];

  for (uint32_t i = 0; i < roots_.size(); ++i) {
    bool by_node = false, by_python = false;
    for (const Reference& row : dump_.references.of(i)) {
      by_python = by_python || holds(row);
      by_node = by_node || ReferenceRoot(row.root) == ReferenceRoot::node;
    }
    if (dump_.references.present) {
      const TensorObject& object = dump_.references.tensors[i];
      const bool referenced = object.known && object.state == uint8_t(format::WrapperState::referenced);
      by_python = by_python || (referenced && !by_node);  // by something that has no row
    }
    if (by_python) {
      roots_[i] = Root::python;
    } else if (!linked[i] && !dump_.references.freed(i)) {
      roots_[i] = looked_at(i) && dump_.graph.whole() ? Root::cpp : Root::unknown;
    }
  }
  // What nothing else holds is held by its views, as their base.
  auto view = [&](uint32_t tensor) { return (dump_.tensors[tensor].flags & uint32_t(format::TensorFlag::view)) != 0; };
  for (const Storage& storage : dump_.storages) {
    uint32_t base = kNone;
    for (uint32_t tensor : storage.tensors) {
      if (base == kNone && !view(tensor) && roots_[tensor] == Root::cpp) base = tensor;
    }
    for (uint32_t tensor : storage.tensors) {
      if (base == kNone || !view(tensor)) continue;
      base_[tensor] = base;
      roots_[base] = Root::none;
      mere_bases_[base] = true;
    }
  }
}

template <typename Take>
void Retention::each_link_of_tensor(uint32_t tensor, Take take) const {
  if (node_of_[tensor] != kNoNode) take(Link{Link::Kind::grad_fn, true, node_of_[tensor]});
  if (gradient_[tensor] != kNone) take(Link{Link::Kind::gradient, false, gradient_[tensor]});
  if (base_[tensor] != kNone) take(Link{Link::Kind::base, false, base_[tensor]});
  const auto found = parts_.find(tensor);
  if (found == parts_.end()) return;
  for (const uint32_t part : found->second) take(Link{Link::Kind::part, false, part});
}

template <typename Take>
void Retention::each_link_of_node(uint32_t node, Take take) const {
  for (const GraphEdge& edge : dump_.graph.edges_of(node)) {
    if (edge.node != kNoNode) take(Link{Link::Kind::next, true, edge.node});
  }
  for (const SavedSlot& slot : dump_.graph.saved_of(node)) {
    if (holds(slot)) take(Link{Link::Kind::saved, false, slot.tensor});
  }
  if (python_saved_.empty()) return;
  for (const uint32_t tensor : python_saved_[node]) take(Link{Link::Kind::python, false, tensor});
}

void Retention::mark(Marks& marks, std::vector<uint32_t> tensors, std::vector<uint32_t> nodes, Retained* found,
                     const std::vector<bool>* dropped) const {
  auto tensor_reached = [&](uint32_t tensor) {
    if (tensor == kNone || marks.tensors[tensor]) return;
    marks.tensors[tensor] = true;
    tensors.push_back(tensor);
    if (found != nullptr) found->tensors.push_back(tensor);
  };
  auto node_reached = [&](uint32_t node) {
    if (node == kNoNode || marks.nodes[node]) return;
    marks.nodes[node] = true;
    nodes.push_back(node);
    if (found != nullptr) found->nodes.push_back(node);
  };
  for (uint32_t tensor : std::exchange(tensors, {})) tensor_reached(tensor);
  for (uint32_t node : std::exchange(nodes, {})) node_reached(node);
  while (!tensors.empty() || !nodes.empty()) {
    const auto reached = [&](const Link& link) {
      if (dropped != nullptr && link.kind == Link::Kind::gradient && (*dropped)[link.to]) return;
      link.to_node ? node_reached(link.to) : tensor_reached(link.to);
    };
    if (!tensors.empty()) {
      const uint32_t tensor = tensors.back();
      tensors.pop_back();
      each_link_of_tensor(tensor, reached);
    } else {
      const uint32_t node = nodes.back();
      nodes.pop_back();
      each_link_of_node(node, reached);
    }
  }
}

Retention::Marks Retention::from_roots(const Marks& let_go, const std::vector<bool>* dropped) const {
  std::vector<uint32_t> tensors, nodes;
  for (uint32_t i = 0; i < roots_.size(); ++i) {
    if (roots_[i] != Root::none && !let_go.tensors[i]) tensors.push_back(i);
  }
  for (uint32_t i = 0; i < node_roots_.size(); ++i) {
    if (node_roots_[i] && !let_go.nodes[i]) nodes.push_back(i);
  }
  Marks marks = no_marks();
  mark(marks, std::move(tensors), std::move(nodes), nullptr, dropped);
  return marks;
}

Retained Retention::only_by(std::span<const uint32_t> tensors, std::span<const uint32_t> nodes) const {
  Marks let_go = no_marks();
  for (uint32_t tensor : tensors) let_go.tensors[tensor] = true;
  for (uint32_t node : nodes) let_go.nodes[node] = true;
  Marks marks = from_roots(let_go);
  Retained result;
  mark(marks, {tensors.begin(), tensors.end()}, {nodes.begin(), nodes.end()}, &result);
  result.bytes = bytes_of(result.tensors);
  return result;
}

std::vector<uint32_t> Retention::gradients_with_graph() const {
  std::vector<uint32_t> result;
  for (uint32_t gradient : gradient_) {
    if (gradient != kNone && node_of(gradient) != kNoNode) result.push_back(gradient);
  }
  return result;
}

Retained Retention::only_by_gradients(std::span<const uint32_t> gradients) const {
  std::vector<bool> dropped(roots_.size());
  for (uint32_t gradient : gradients) dropped[gradient] = true;
  Marks marks = from_roots(no_marks(), &dropped);
  Retained result;
  mark(marks, {gradients.begin(), gradients.end()}, {}, &result);
  result.bytes = bytes_of(result.tensors);
  return result;
}

std::vector<uint32_t> Retention::without_graph(std::span<const uint32_t> tensors) const {
  std::vector<bool> seen(roots_.size());
  std::vector<uint32_t> result;
  const auto take = [&](uint32_t tensor) {
    if (seen[tensor]) return;
    seen[tensor] = true;
    result.push_back(tensor);
  };
  for (uint32_t tensor : tensors) take(tensor);
  for (size_t at = 0; at < result.size(); ++at) {
    each_link_of_tensor(result[at], [&](const Link& link) {
      if (!link.to_node) take(link.to);
    });
  }
  return result;
}

uint64_t Retention::bytes_of(const std::vector<uint32_t>& tensors) const {
  uint64_t bytes = 0;
  std::vector<bool> goes(dump_.tensors.size()), counted(accounts_.items().size());
  for (uint32_t tensor : tensors) goes[tensor] = true;
  for (uint32_t tensor : tensors) {
    const uint32_t item = accounts_.item_of_tensor(tensor), storage = dump_.tensors[tensor].storage;
    if (counted[item]) continue;
    counted[item] = true;
    bool all = true;
    if (storage != kNone) {
      for (uint32_t other : dump_.storages[storage].tensors)
        all = all && (goes[other] || dump_.references.freed(other));
    }
    if (all) bytes += accounts_.items()[item].bytes;
  }
  return bytes;
}

Retained Retention::unrooted() const {
  Retained result;
  if (!known()) return result;
  const Marks marks = from_roots(no_marks());
  for (uint32_t i = 0; i < roots_.size(); ++i) {
    if (!marks.tensors[i]) result.tensors.push_back(i);
  }
  for (uint32_t i = 0; i < node_roots_.size(); ++i) {
    if (!marks.nodes[i]) result.nodes.push_back(i);
  }
  result.bytes = bytes_of(result.tensors);
  return result;
}

std::vector<Retention::Link> Retention::links_of_tensor(uint32_t tensor) const {
  std::vector<Link> links;
  each_link_of_tensor(tensor, [&](const Link& link) { links.push_back(link); });
  return links;
}

std::vector<Retention::Link> Retention::links_of_node(uint32_t node) const {
  std::vector<Link> links;
  each_link_of_node(node, [&](const Link& link) { links.push_back(link); });
  return links;
}

std::vector<uint32_t> Retention::nodes_of(std::span<const uint32_t> tensors) const {
  std::vector<uint32_t> nodes;
  for (uint32_t tensor : tensors) {
    if (node_of(tensor) != kNoNode) nodes.push_back(node_of(tensor));
  }
  return nodes;
}

std::vector<uint32_t> Retention::nodes_below(std::span<const uint32_t> nodes) const {
  std::vector<bool> seen(dump_.graph.nodes.size());
  std::vector<uint32_t> result;
  auto visit = [&](uint32_t node) {
    if (node == kNoNode || seen[node] || accumulates(node)) return;
    seen[node] = true;
    result.push_back(node);
  };
  for (uint32_t node : nodes) visit(node);
  for (size_t at = 0; at < result.size(); ++at) {
    for (const GraphEdge& edge : dump_.graph.edges_of(result[at])) visit(edge.node);
  }
  return result;
}

std::vector<uint32_t> Retention::saved_by(std::span<const uint32_t> nodes) const {
  std::vector<uint32_t> tensors;
  for (uint32_t node : nodes) {
    for (const SavedSlot& slot : dump_.graph.saved_of(node)) {
      if (holds(slot)) tensors.push_back(slot.tensor);
    }
    if (!python_saved_.empty()) tensors.insert(tensors.end(), python_saved_[node].begin(), python_saved_[node].end());
  }
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  return tensors;
}

}  // namespace tensorscope::analyzer
