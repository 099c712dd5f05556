#include "model/graph_answers.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "dump_generated.h"

namespace tensorscope::model {

namespace {

bool flagged(const Graph& graph, uint32_t node, dump::GraphNodeFlag flag) {
  return (graph.nodes[node].flags & uint8_t(flag)) != 0;
}

// What people call a root: the tensors that came out of it, else the variables that hold the node.
std::vector<std::string> root_names(const GraphView& view, uint32_t root,
                                    const std::map<uint32_t, std::string>& variables) {
  std::vector<std::string> names;
  for (uint32_t tensor : view.tensors.tensors_of(root)) {
    if (std::string name = view.name(tensor); !name.empty()) names.push_back(std::move(name));
  }
  auto variable = variables.find(root);
  if (names.empty() && variable != variables.end()) names.push_back(variable->second);
  return names;
}

}  // namespace

GraphOverview graph_overview(const GraphView& view, GraphKeeps& keeps) {
  const Graph& graph = view.graph;
  GraphOverview out;
  out.certain = keeps.certain();
  std::map<uint32_t, std::string> variables;
  for (const NodeReference& reference : view.dump.references.nodes) variables.emplace(reference.node, reference.line());
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (view.walk.accumulates(node)) {
      ++out.accumulators;
      if (view.walk.users_of(node).empty()) ++out.unused_accumulators;
    } else {
      ++out.nodes;
    }
    if (buffers_freed(graph, node)) ++out.freed_nodes;
    if (flagged(graph, node, dump::GraphNodeFlag::partial)) ++out.partial_nodes;
    if (flagged(graph, node, dump::GraphNodeFlag::python)) ++out.python_nodes;
    for (const GraphEdge& edge : graph.edges_of(node)) out.edges += edge.node != kNoNode ? 1 : 0;
  }

  const std::vector<GraphPart> parts = view.walk.parts();
  out.graphs = parts.size();
  std::vector<uint32_t> all_roots;
  for (const GraphPart& part : parts) all_roots.insert(all_roots.end(), part.roots.begin(), part.roots.end());
  view.prefetch(all_roots);
  std::map<std::pair<std::vector<uint32_t>, std::string>, GraphGroup> groups;
  for (const GraphPart& part : parts) {
    std::vector<uint32_t> classes;
    for (uint32_t root : part.roots) classes.push_back(graph.nodes[root].class_name);
    std::sort(classes.begin(), classes.end());
    GraphGroup& group = groups[{std::move(classes), view.place(part.roots.front())}];
    ++group.graphs;
    group.roots.insert(group.roots.end(), part.roots.begin(), part.roots.end());
    group.nodes += part.nodes.size();
    for (uint32_t node : part.nodes) group.freed_nodes += buffers_freed(graph, node) ? 1 : 0;
    for (uint32_t root : part.roots) {
      for (std::string& name : root_names(view, root, variables)) group.names.push_back(std::move(name));
    }
  }
  for (auto& [key, group] : groups) {
    const Kept kept = keeps.below(group.roots);
    group.bytes = kept.bytes;
    group.only_bytes = kept.only_bytes;
    out.groups.push_back(std::move(group));
  }
  std::stable_sort(out.groups.begin(), out.groups.end(), [](const GraphGroup& a, const GraphGroup& b) {
    return std::tie(b.only_bytes, b.bytes, b.nodes, a.roots) < std::tie(a.only_bytes, a.bytes, a.nodes, b.roots);
  });
  out.kept = keeps.below(all_roots);
  return out;
}

GraphBelow graph_below(const GraphView& view, uint32_t node) {
  GraphBelow out;
  out.node = node;
  const std::array from{out.node};
  out.reach = view.walk.inputs(from);
  const std::vector<uint64_t> paths = view.walk.path_counts(out.reach);
  for (uint32_t below : out.reach.nodes) {
    if (buffers_freed(view.graph, below)) ++out.freed_nodes;
    if (flagged(view.graph, below, dump::GraphNodeFlag::partial)) ++out.partial_nodes;
    if (!view.walk.accumulates(below)) {
      ++out.operations;
      continue;
    }
    const auto leaves = view.tensors.tensors_of(below);
    out.leaves.push_back({below, leaves.empty() ? kNone : leaves.front(), paths[below], out.reach.distance[below]});
  }
  std::sort(out.leaves.begin(), out.leaves.end(), [](const GraphLeaf& a, const GraphLeaf& b) {
    return std::tie(a.steps, a.tensor, a.node) < std::tie(b.steps, b.tensor, b.node);
  });
  for (uint32_t user : view.walk.users(from).nodes) {
    if (user != out.node && view.walk.users_of(user).empty()) out.roots.push_back(user);
  }
  return out;
}

GraphPath graph_path(const GraphView& view, uint32_t a, uint32_t b) {
  GraphPath out;
  out.input = b, out.output = a;
  const uint32_t nodes[] = {view.tensors.node_of(a), view.tensors.node_of(b)};
  if (nodes[0] == kNoNode || nodes[1] == kNoNode) return out;
  for (int side : {0, 1}) {
    const std::array from{nodes[side]};
    const Reach reach = view.walk.inputs(from);
    if (!reach.has(nodes[1 - side])) continue;
    out.nodes = reach.path_to(nodes[1 - side]);
    out.paths = view.walk.path_counts(reach)[nodes[1 - side]];
    out.reversed = side == 1;
    if (out.reversed) std::swap(out.input, out.output);
    break;
  }
  return out;
}

namespace {

// Tensors with names at the nearest nodes that have any. `reach.nodes` are by distance; only nodes at least `least`
// away are looked at. `extra` is added to the steps.
std::vector<GraphRelative> nearest_named(const GraphView& view, const Reach& reach, uint32_t asked, uint32_t least,
                                         uint32_t extra) {
  std::vector<GraphRelative> found;
  for (uint32_t node : reach.nodes) {
    const uint32_t distance = reach.distance[node];
    if (distance < least) continue;
    if (!found.empty() && (distance + extra > found.front().steps || found.size() >= kMostRelatives)) break;
    for (uint32_t tensor : view.tensors.tensors_of(node)) {
      if (tensor == asked || found.size() >= kMostRelatives) continue;
      std::string name = view.name(tensor);
      if (!name.empty()) found.push_back({tensor, std::move(name), distance + extra, reach.path_to(node)});
    }
  }
  return found;
}

std::vector<GraphRelative> named_among(const GraphView& view, std::span<const uint32_t> tensors, uint32_t asked) {
  std::vector<GraphRelative> found;
  for (uint32_t tensor : tensors) {
    if (tensor == asked || found.size() >= kMostRelatives) continue;
    std::string name = view.name(tensor);
    if (!name.empty()) found.push_back({tensor, std::move(name), 0, {}});
  }
  return found;
}

// Where a tensor that came out of no node is saved: as an output that was detached, it belongs to that node.
void find_savers(const GraphView& view, uint32_t tensor, GraphNeighbours& out) {
  std::vector<uint32_t> savers;
  for (uint32_t node : view.tensors.savers_of(tensor)) {
    if (savers.empty() || savers.back() != view.walk.outer(node)) savers.push_back(view.walk.outer(node));
  }
  for (uint32_t node : savers) {
    for (const SavedSlot& slot : view.graph.saved_of(node)) {
      if (slot.tensor == tensor && slot.output && out.nodes.empty()) out.nodes.push_back(node);
    }
  }
  if (!out.nodes.empty()) return;
  out.nodes = std::move(savers);
  out.saved_by = !out.nodes.empty();
}

}  // namespace

GraphNeighbours graph_neighbours(const GraphView& view, uint32_t tensor) {
  GraphNeighbours out;
  if (const uint32_t node = view.tensors.node_of(tensor); node != kNoNode) {
    out.nodes.push_back(node);
  } else {
    find_savers(view, tensor, out);
  }
  const uint32_t storage = view.dump.tensors[tensor].storage;
  if (storage != kNone) out.same_storage = named_among(view, view.dump.storages[storage].tensors, tensor);
  if (out.nodes.empty()) return out;
  if (!out.saved_by) out.same_node = named_among(view, view.tensors.tensors_of(out.nodes.front()), tensor);
  out.made_from = nearest_named(view, view.walk.inputs(out.nodes), tensor, 1, 0);
  out.used_for = nearest_named(view, view.walk.users(out.nodes), tensor, out.saved_by ? 0 : 1, out.saved_by ? 1 : 0);
  return out;
}

}  // namespace tensorscope::model
