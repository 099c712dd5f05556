// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/graph_walk.h"

#include <string.h>

#include <algorithm>

#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {
constexpr size_t kWalkBatch = 1024;
constexpr uint64_t kMaxEdges = uint64_t{1} << 20;  // of one node
constexpr char kPyNode[] = "N5torch8autograd6PyNodeE";
constexpr char kCopySlices[] = "N5torch8autograd10CopySlicesE";
}  // namespace

GraphWalk::GraphWalk(ObjectClasses& classes) : classes_(classes) {}

uint32_t GraphWalk::add(uint64_t address) {
  const auto next = uint32_t(nodes.size());
  const uint32_t number = numbers_.try_add(address, next);
  if (number == next) {
    WalkedNode node;
    node.address = address;
    nodes.push_back(node);
  }
  return number;
}

uint32_t GraphWalk::class_of(uint64_t vtable) {
  const auto next = uint32_t(node_classes.size());
  if (vtable == 0) vtable = 1;  // no object: a class of its own
  const uint32_t number = class_numbers_.try_add(vtable, next);
  if (number != next) return number;
  NodeClass added;
  added.vtable = vtable;
  if (classes_.derives_from(vtable, kNodeClass)) {
    added.name = classes_.by_vtable(vtable);
    added.kind = strcmp(added.name, kAccumulateGrad) == 0 ? NodeKind::accumulates
                 : strcmp(added.name, kPyNode) == 0       ? NodeKind::python
                 : strcmp(added.name, kCopySlices) == 0   ? NodeKind::copy_slices
                                                          : NodeKind::plain;
  }
  node_classes.push_back(added);
  return number;
}

bool GraphWalk::walk(const NodeLayout& layout) {
  // Numbers are given in the order of discovery: the nodes are their own queue.
  while (visited_ < nodes.size()) {
    const size_t end = std::min(visited_ + kWalkBatch, nodes.size());
    if (!walk_batch(layout, visited_, end)) return false;
    visited_ = end;
  }
  return true;
}

bool GraphWalk::walk_batch(const NodeLayout& layout, size_t begin, size_t end) {
  SafeReads heads, targets;
  for (size_t n = begin; n < end; ++n) heads.add(nodes[n].address, layout.object() + 8);
  if (!heads.run()) return false;

  for (size_t n = begin; n < end; ++n) {
    WalkedNode& node = nodes[n];
    const size_t head = n - begin;
    uint64_t edges_at = 0, bytes = 0;
    if (heads.ok(head)) {
      node.class_number = class_of(heads.word(head, 0));
      node.alive = node_classes[node.class_number].kind != NodeKind::none;
    }
    if (node.alive) {
      node.object = heads.word(head, layout.object());
      const VectorWords v = {heads.word(head, layout.edges), heads.word(head, layout.edges + 8),
                             heads.word(head, layout.edges + 16)};
      node.partial = !v.plausible() || v.bytes() % layout.edge_size != 0 || v.bytes() / layout.edge_size > kMaxEdges;
      if (!node.partial) {
        edges_at = v.begin;
        bytes = v.bytes();
      }
    }
    targets.add(edges_at, size_t(bytes));
  }
  if (!targets.run()) return false;

  for (size_t n = begin; n < end; ++n) {
    nodes[n].first_edge = uint32_t(edges.size());
    const size_t piece = n - begin;
    if (targets.size(piece) == 0) continue;
    if (!targets.ok(piece)) {
      nodes[n].partial = true;
      continue;
    }
    for (size_t at = 0; at < targets.size(piece); at += layout.edge_size) {
      const uint64_t target = targets.word(piece, at);
      const auto input = uint32_t(targets.word(piece, at + layout.edge_size - 8));
      if (!can_be_pointer(target)) nodes[n].partial = true;
      const bool nothing = target == 0 || !can_be_pointer(target);
      edges.push_back({nothing ? AddressMap::kNone : add(target), nothing ? 0 : input});
    }
    nodes[n].edges = uint32_t(edges.size()) - nodes[n].first_edge;
  }
  return true;
}

}  // namespace tensorscope::torch
