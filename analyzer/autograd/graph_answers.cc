// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_answers.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

bool flagged(const Graph& graph, uint32_t node, format::GraphNodeFlag flag) {
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
    if (flagged(graph, node, format::GraphNodeFlag::partial)) ++out.partial_nodes;
    if (flagged(graph, node, format::GraphNodeFlag::python)) ++out.python_nodes;
    for (const GraphEdge& edge : graph.edges_of(node)) out.edges += edge.node != kNoNode ? 1 : 0;
  }

  std::vector<uint32_t> nodes(graph.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  out.freed_by = view.freed_by_place(nodes);

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

GraphBelow graph_below(const GraphView& view, const std::vector<GraphSubject>& asked) {
  GraphBelow out;
  out.asked = asked;
  std::vector<uint32_t> from;
  for (const GraphSubject& subject : asked) from.push_back(subject.node);
  out.reach = view.walk.inputs(from);
  out.freed_by = view.freed_by_place(out.reach.nodes);
  const std::vector<uint64_t> paths = view.walk.path_counts(out.reach);
  for (uint32_t below : out.reach.nodes) {
    if (buffers_freed(view.graph, below)) ++out.freed_nodes;
    if (flagged(view.graph, below, format::GraphNodeFlag::partial)) ++out.partial_nodes;
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
    const bool itself = std::find(from.begin(), from.end(), user) != from.end();
    if (!itself && view.walk.users_of(user).empty()) out.roots.push_back(user);
  }
  return out;
}

namespace {

bool leads_to(const GraphEdge& edge, const NodeOutput& target) {
  return edge.node == target.node && (target.output == kAnyOutput || edge.input == target.output);
}

uint64_t sum_of_paths(uint64_t a, uint64_t b) {
  if (a == kEndlessPaths || b == kEndlessPaths) return kEndlessPaths;
  return a >= kManyPaths - b ? kManyPaths : a + b;
}

// Ways from where `reach` (of inputs) began to one output of a node. Nodes are reached through any of their outputs:
// what another output of the same node was used for is no way.
struct OutputWays {
  uint32_t last = kNoNode;  // the node before, on a shortest one; kNoNode: none
  uint64_t paths = 0;
};
OutputWays ways_to(const GraphView& view, const Reach& reach, const NodeOutput& target) {
  OutputWays out;
  const std::vector<uint64_t> counts = view.walk.path_counts(reach);
  const auto users = view.walk.users_of(target.node);  // once for each edge, those of one user together
  for (size_t i = 0; i < users.size(); ++i) {
    const uint32_t user = users[i];
    if (!reach.has(user) || (i > 0 && users[i - 1] == user)) continue;
    for (const GraphEdge& edge : view.graph.edges_of(user)) {
      if (!leads_to(edge, target)) continue;
      out.paths = sum_of_paths(out.paths, counts[user]);
      if (out.last == kNoNode || reach.distance[user] < reach.distance[out.last]) out.last = user;
    }
  }
  return out;
}

// Through which output each node of a path is left, towards the one before it.
std::vector<uint32_t> outputs_on(const GraphView& view, const std::vector<uint32_t>& nodes, const NodeOutput& first,
                                 const NodeOutput& last) {
  std::vector<uint32_t> outputs{first.output};
  for (size_t i = 1; i < nodes.size(); ++i) {
    const NodeOutput wanted = {nodes[i], i + 1 == nodes.size() ? last.output : kAnyOutput};
    uint32_t output = wanted.output;
    for (const GraphEdge& edge : view.graph.edges_of(nodes[i - 1])) {
      if (output == kAnyOutput && leads_to(edge, wanted)) output = edge.input;
    }
    outputs.push_back(output);
  }
  return outputs;
}

// From `from` to an output of a node. Without nodes: there is none.
GraphPath path_between(const GraphView& view, const NodeOutput& from, const NodeOutput& to) {
  GraphPath out;
  if (from.node == to.node) {
    const bool same = from.output == to.output || from.output == kAnyOutput || to.output == kAnyOutput;
    if (same) out.nodes = {from.node}, out.outputs = {from.output}, out.paths = 1;
    return out;
  }
  const std::array start{from.node};
  const Reach reach = view.walk.inputs(start);
  const OutputWays ways = ways_to(view, reach, to);
  if (ways.last == kNoNode) return out;
  out.nodes = reach.path_to(ways.last);
  out.nodes.push_back(to.node);
  out.paths = ways.paths;
  out.outputs = outputs_on(view, out.nodes, from, to);
  return out;
}

// From `from` to the nearest node that saved `tensor`.
GraphPath path_to_saver(const GraphView& view, const NodeOutput& from, uint32_t tensor) {
  GraphPath out;
  const std::array start{from.node};
  const Reach reach = view.walk.inputs(start);
  uint32_t best = kNoNode, saver = kNoNode;
  for (uint32_t node : view.tensors.savers_of(tensor)) {
    const uint32_t outer = view.walk.outer(node);
    if (reach.has(outer) && (best == kNoNode || reach.distance[outer] < reach.distance[best]))
      best = outer, saver = node;
  }
  if (best == kNoNode) return out;
  out.nodes = reach.path_to(best);
  out.paths = view.walk.path_counts(reach)[best];
  out.outputs = outputs_on(view, out.nodes, from, {best, kAnyOutput});
  const GraphNode& entry = view.graph.nodes[saver];
  for (uint32_t slot = entry.first_saved; slot < entry.first_saved + entry.saved_count; ++slot) {
    if (view.graph.saved[slot].tensor == tensor && out.saved_in == kNone) out.saved_in = slot;
  }
  return out;
}

}  // namespace

GraphPath graph_path(const GraphView& view, uint32_t a, uint32_t b) {
  const uint32_t tensors[] = {a, b};
  const NodeOutput ends[] = {view.tensors.output_of(a), view.tensors.output_of(b)};
  GraphPath out;
  for (int side : {0, 1}) {
    if (ends[side].node == kNoNode) continue;
    out = ends[1 - side].node != kNoNode ? path_between(view, ends[side], ends[1 - side])
                                         : path_to_saver(view, ends[side], tensors[1 - side]);
    out.output = tensors[side], out.input = tensors[1 - side];
    out.reversed = side == 1;
    if (!out.nodes.empty()) return out;
  }
  out.input = b, out.output = a, out.reversed = false;
  return out;
}

namespace {

// Tensors with names that are nearest to where `reach` (of inputs) began: of each node only the outputs that were used
// on the way.
std::vector<GraphRelative> nearest_made_from(const GraphView& view, const Reach& reach, uint32_t asked) {
  std::vector<GraphRelative> found;
  std::set<uint32_t> seen{asked};
  for (uint32_t user : reach.nodes) {
    const uint32_t steps = reach.distance[user] + 1;
    if (!found.empty() && (steps > found.front().steps || found.size() >= kMaxRelatives)) break;
    for (const GraphEdge& edge : view.graph.edges_of(user)) {
      if (edge.node == kNoNode) continue;
      for (uint32_t tensor : view.tensors.tensors_of(NodeOutput{edge.node, edge.input})) {
        std::string name = view.name(tensor);
        if (name.empty() || found.size() >= kMaxRelatives || !seen.insert(tensor).second) continue;
        std::vector<uint32_t> path = reach.path_to(user);
        path.push_back(edge.node);
        found.push_back({tensor, std::move(name), steps, std::move(path)});
      }
    }
  }
  return found;
}

// The same towards the roots, from nodes that used it. `through`: the node that it came out of, which begins each path;
// kNoNode: it was only saved.
std::vector<GraphRelative> nearest_used_for(const GraphView& view, const Reach& reach, uint32_t asked,
                                            uint32_t through) {
  std::vector<GraphRelative> found;
  for (uint32_t node : reach.nodes) {
    const uint32_t steps = reach.distance[node] + 1;
    if (!found.empty() && (steps > found.front().steps || found.size() >= kMaxRelatives)) break;
    for (uint32_t tensor : view.tensors.tensors_of(node)) {
      if (tensor == asked || found.size() >= kMaxRelatives) continue;
      std::string name = view.name(tensor);
      if (name.empty()) continue;
      std::vector<uint32_t> path = reach.path_to(node);
      if (through != kNoNode) path.insert(path.begin(), through);
      found.push_back({tensor, std::move(name), steps, std::move(path)});
    }
  }
  return found;
}

std::vector<uint32_t> users_of_output(const GraphView& view, const NodeOutput& output) {
  std::vector<uint32_t> users;
  for (uint32_t user : view.walk.users_of(output.node)) {
    const auto edges = view.graph.edges_of(user);
    const bool uses = std::any_of(edges.begin(), edges.end(), [&](const auto& edge) { return leads_to(edge, output); });
    if (uses && (users.empty() || users.back() != user)) users.push_back(user);
  }
  return users;
}

std::vector<GraphRelative> named_among(const GraphView& view, std::span<const uint32_t> tensors, uint32_t asked) {
  std::vector<GraphRelative> found;
  for (uint32_t tensor : tensors) {
    if (tensor == asked || found.size() >= kMaxRelatives) continue;
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
  out.made_from = nearest_made_from(view, view.walk.inputs(out.nodes), tensor);
  if (out.saved_by) {
    out.used_for = nearest_used_for(view, view.walk.users(out.nodes), tensor, kNoNode);
  } else {
    NodeOutput own = view.tensors.output_of(tensor);
    if (own.node == kNoNode) own.node = out.nodes.front();  // an alias of one of its outputs, saved there
    out.used_for = nearest_used_for(view, view.walk.users(users_of_output(view, own)), tensor, own.node);
  }
  return out;
}

}  // namespace tensorscope::analyzer
