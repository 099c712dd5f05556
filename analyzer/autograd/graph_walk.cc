// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_walk.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

NumberLists users(const Graph& graph) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  pairs.reserve(graph.edges.size());
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    for (const GraphEdge& edge : graph.edges_of(node)) {
      if (edge.node != kNoNode) pairs.emplace_back(edge.node, node);
    }
  }
  return {graph.nodes.size(), pairs};
}

// `next(node, visit)` calls visit(neighbour) for each.
template <typename Next>
Reach breadth_first(size_t count, std::span<const uint32_t> from, Next next) {
  Reach reach;
  reach.distance.assign(count, kNoNode);
  reach.previous.assign(count, kNoNode);
  for (uint32_t node : from) {
    if (reach.has(node)) continue;
    reach.distance[node] = 0;
    reach.nodes.push_back(node);
  }
  for (size_t at = 0; at < reach.nodes.size(); ++at) {
    const uint32_t node = reach.nodes[at];
    next(node, [&](uint32_t neighbour) {
      if (reach.has(neighbour)) return;
      reach.distance[neighbour] = reach.distance[node] + 1;
      reach.previous[neighbour] = node;
      reach.nodes.push_back(neighbour);
    });
  }
  return reach;
}

uint64_t saturated_sum(uint64_t a, uint64_t b) {
  if (a == kEndlessPaths || b == kEndlessPaths) return kEndlessPaths;
  return a >= kManyPaths - b ? kManyPaths : a + b;
}

}  // namespace

std::vector<uint32_t> Reach::path_to(uint32_t node) const {
  std::vector<uint32_t> path;
  if (!has(node)) return path;
  for (; node != kNoNode; node = previous[node]) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

GraphWalk::GraphWalk(const Graph& graph) : graph_(graph), users_(analyzer::users(graph)) {}

bool GraphWalk::accumulates(uint32_t node) const {
  return (graph_.nodes[node].flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0;
}

bool GraphWalk::is_inner(uint32_t node) const {
  return node > 0 && (graph_.nodes[node].flags & uint8_t(format::GraphNodeFlag::inner)) != 0;
}

Reach GraphWalk::inputs(std::span<const uint32_t> from) const {
  return breadth_first(graph_.nodes.size(), from, [&](uint32_t node, auto visit) {
    for (const GraphEdge& edge : graph_.edges_of(node)) {
      if (edge.node != kNoNode) visit(edge.node);
    }
  });
}

Reach GraphWalk::users(std::span<const uint32_t> from) const {
  return breadth_first(graph_.nodes.size(), from, [&](uint32_t node, auto visit) {
    for (uint32_t user : users_.of(node)) visit(user);
  });
}

// A node's count is final once all of its users among the reached nodes are; what never becomes final is on a cycle or
// behind one.
std::vector<uint64_t> GraphWalk::path_counts(const Reach& reach) const {
  std::vector<uint64_t> counts(graph_.nodes.size());
  std::vector<uint32_t> waiting(graph_.nodes.size());
  for (uint32_t node : reach.nodes) {
    if (reach.distance[node] == 0) counts[node] = 1;
    for (const GraphEdge& edge : graph_.edges_of(node)) {
      if (edge.node != kNoNode) ++waiting[edge.node];
    }
  }
  std::vector<uint32_t> ready;
  for (uint32_t node : reach.nodes) {
    if (waiting[node] == 0) ready.push_back(node);
  }
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    for (const GraphEdge& edge : graph_.edges_of(ready[done])) {
      if (edge.node == kNoNode) continue;
      counts[edge.node] = saturated_sum(counts[edge.node], counts[ready[done]]);
      if (--waiting[edge.node] == 0) ready.push_back(edge.node);
    }
  }
  if (done < reach.nodes.size()) {
    for (uint32_t node : reach.nodes) {
      if (waiting[node] != 0) counts[node] = kEndlessPaths;
    }
  }
  return counts;
}

std::vector<GraphPart> GraphWalk::parts() const {
  const size_t count = graph_.nodes.size();
  std::vector<uint32_t> leader(count);
  std::iota(leader.begin(), leader.end(), 0);
  auto find = [&](uint32_t node) {
    while (leader[node] != node) node = leader[node] = leader[leader[node]];
    return node;
  };
  auto link = [&](uint32_t node, uint32_t other) {
    if (accumulates(node) || accumulates(other)) return;
    const uint32_t a = find(node), b = find(other);
    leader[std::max(a, b)] = std::min(a, b);  // so that the first node leads
  };
  for (uint32_t node = 0; node < count; ++node) {
    if (is_inner(node)) link(node, outer(node));
    for (const GraphEdge& edge : graph_.edges_of(node)) {
      if (edge.node != kNoNode) link(node, edge.node);
    }
  }
  std::vector<GraphPart> parts;
  std::vector<uint32_t> part_of(count, kNoNode);
  for (uint32_t node = 0; node < count; ++node) {
    if (accumulates(node)) continue;
    const uint32_t first = find(node);
    if (part_of[first] == kNoNode) {
      part_of[first] = uint32_t(parts.size());
      parts.emplace_back();
    }
    GraphPart& part = parts[part_of[first]];
    part.nodes.push_back(node);
    if (users_.of(node).empty() && !is_inner(node)) part.roots.push_back(node);
  }
  for (GraphPart& part : parts) {
    if (part.roots.empty()) part.roots.push_back(part.nodes.front());
  }
  return parts;
}

GraphTensors::GraphTensors(const Dump& dump) : dump_(dump), node_of_(dump.tensors.size(), kNoNode) {
  const Graph& graph = dump.graph;
  std::unordered_map<uint64_t, uint32_t> by_address;
  std::vector<std::pair<uint32_t, uint32_t>> outputs, savers;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    by_address[graph.nodes[node].address] = node;
    const bool accumulates = (graph.nodes[node].flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0;
    for (const SavedSlot& slot : graph.saved_of(node)) {
      if (slot.tensor == kNone || slot.state != uint8_t(format::SlotState::held)) continue;
      if (!accumulates) {
        savers.emplace_back(slot.tensor, node);
      } else if (node_of_[slot.tensor] == kNoNode) {
        node_of_[slot.tensor] = node;
      }
    }
  }
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); ++tensor) {
    if (dump.tensors[tensor].grad_fn != 0) {
      auto found = by_address.find(dump.tensors[tensor].grad_fn);
      if (found != by_address.end()) node_of_[tensor] = found->second;
    }
    if (node_of_[tensor] != kNoNode) outputs.emplace_back(node_of_[tensor], tensor);
  }
  tensors_of_ = NumberLists(graph.nodes.size(), outputs);
  savers_of_ = NumberLists(dump.tensors.size(), savers);
}

NodeOutput GraphTensors::output_of(uint32_t tensor) const {
  return {node_of_[tensor], dump_.tensors[tensor].grad_fn == 0 ? kAnyOutput : dump_.tensors[tensor].output};
}

std::vector<uint32_t> GraphTensors::tensors_of(const NodeOutput& output) const {
  std::vector<uint32_t> found;
  for (uint32_t tensor : tensors_of(output.node)) {
    const uint32_t own = output_of(tensor).output;
    if (own == output.output || own == kAnyOutput || output.output == kAnyOutput) found.push_back(tensor);
  }
  return found;
}

bool buffers_freed(const Graph& graph, uint32_t node) {
  const auto slots = graph.saved_of(node);
  return !slots.empty() && std::all_of(slots.begin(), slots.end(), [](const SavedSlot& slot) {
    return slot.state == uint8_t(format::SlotState::empty);
  });
}

}  // namespace tensorscope::analyzer
