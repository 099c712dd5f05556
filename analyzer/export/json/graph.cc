// SPDX-License-Identifier: Apache-2.0
#include "export/json/graph.h"

#include "dump_generated.h"
#include "export/json/scalars.h"
#include "text/graph/phrases.h"

namespace tensorscope::exports {

namespace {

using analyzer::GraphView;
using analyzer::kNone;
using analyzer::kNoNode;

constexpr int kGraphSchema = 1;

Json header(const GraphView& view, const char* question) {
  return {{"schema", kGraphSchema},
          {"dump", view.dump.path},
          {"question", question},
          {"complete", view.graph.complete},
          {"detail", text_or_null(view.graph.detail)}};
}

// The end of each answer: by then all stacks have been read.
std::string written(const GraphView& view, Json& json) {
  json["not_read"] = not_read_json(view.unread());
  return text_of(json, 1) + "\n";
}

Json id_of(const GraphView& view, uint32_t tensor) {
  return tensor == kNone ? Json(nullptr) : Json(view.dump.tensors[tensor].serial);
}

Json tensor_json(const GraphView& view, uint32_t tensor) {
  if (tensor == kNone) return nullptr;
  const analyzer::Tensor& entry = view.dump.tensors[tensor];
  Json storage = nullptr;
  if (entry.storage != kNone) storage = view.dump.storages[entry.storage].id;
  return {{"id", entry.serial},          {"name", text_or_null(view.name(tensor))},
          {"names", view.names(tensor)}, {"shape", std::vector(entry.sizes.begin(), entry.sizes.end())},
          {"dtype", entry.dtype_text()}, {"device", entry.device.text()},
          {"nbytes", entry.nbytes},      {"storage", storage}};
}

Json path_count_json(uint64_t paths) { return paths >= analyzer::kManyPaths ? Json(nullptr) : Json(paths); }

const char* state_text(uint8_t state) {
  switch (format::SlotState(state)) {
    case format::SlotState::held:
      return "held";
    case format::SlotState::packed:
      return "packed";
    case format::SlotState::empty:
      break;
  }
  return "empty";
}

Json node_json(const GraphView& view, uint32_t node) {
  const analyzer::GraphNode& entry = view.graph.nodes[node];
  auto flagged = [&](format::GraphNodeFlag flag) { return (entry.flags & uint8_t(flag)) != 0; };
  Json outputs = Json::array(), edges = Json::array(), saved = Json::array();
  for (uint32_t tensor : view.tensors.tensors_of(node)) outputs.push_back(id_of(view, tensor));
  for (const analyzer::GraphEdge& edge : view.graph.edges_of(node)) {
    edges.push_back({{"node", edge.node == kNoNode ? Json(nullptr) : Json(edge.node)}, {"input", edge.input}});
  }
  for (const analyzer::SavedSlot& slot : view.graph.saved_of(node)) {
    saved.push_back({{"slot", view.graph.slot_name(node, slot)},
                     {"state", state_text(slot.state)},
                     {"tensor", id_of(view, slot.tensor)},
                     {"output", slot.output}});
  }
  const analyzer::Place* place = view.place_of(node);
  return {{"node", node},
          {"class", view.graph.class_name(node)},
          {"address", entry.address},
          {"sequence", entry.sequence == UINT64_MAX ? Json(nullptr) : Json(entry.sequence)},
          {"module", text_or_null(view.module(node))},
          {"where", text_or_null(place == nullptr ? "" : place->where)},
          {"file", text_or_null(place == nullptr ? "" : place->frame.file)},
          {"line", place == nullptr || place->frame.line == 0 ? Json(nullptr) : Json(place->frame.line)},
          {"accumulates", flagged(format::GraphNodeFlag::accumulates)},
          {"python", flagged(format::GraphNodeFlag::python)},
          {"partial", flagged(format::GraphNodeFlag::partial)},
          {"buffers_freed", analyzer::buffers_freed(view.graph, node)},
          {"freed_at", text_or_null(view.freed_at(node))},
          {"tensors", outputs},
          {"edges", edges},
          {"saved", saved}};
}

Json output_json(uint32_t output) { return output == analyzer::kAnyOutput ? Json(nullptr) : Json(output); }

Json nodes_json(const GraphView& view, const std::vector<uint32_t>& nodes) {
  Json result = Json::array();
  for (uint32_t node : nodes) result.push_back(node_json(view, node));
  return result;
}

const char* how_text(analyzer::Collapse how) {
  switch (how) {
    case analyzer::Collapse::none:
      return "none";
    case analyzer::Collapse::module:
      return "module";
    case analyzer::Collapse::repeat:
      break;
  }
  return "repeat";
}

Json freed_json(const std::vector<analyzer::FreedNodes>& freed) {
  Json result = Json::array();
  for (const analyzer::FreedNodes& row : freed)
    result.push_back({{"where", text_or_null(row.where)}, {"nodes", row.nodes}});
  return result;
}

Json drawing_json(const GraphView& view, const analyzer::GraphDrawing& drawing) {
  Json boxes = Json::array(), edges = Json::array();
  for (const analyzer::DrawnBox& box : drawing.boxes) {
    boxes.push_back({{"kind", analyzer::text(box.kind)},
                     {"title", text::box_title(view, box)},
                     {"module", text_or_null(box.module)},
                     {"indices", box.indices},
                     {"calls", box.calls},
                     {"classes", text_or_null(box.classes)},
                     {"where", text_or_null(box.place)},
                     {"tensor", id_of(view, box.tensor)},
                     {"nodes", box.nodes},
                     {"leaves", box.leaves},
                     {"saved_bytes", box.saved_bytes},
                     {"freed_nodes", box.freed_nodes},
                     {"packed_slots", box.packed_slots}});
  }
  for (const analyzer::DrawnEdge& edge : drawing.edges) {
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"count", edge.count},
                     {"order", edge.order == 0 ? Json(nullptr) : Json(edge.order)},
                     {"view", edge.dotted}});
  }
  return {{"collapse", how_text(drawing.how)}, {"depth", drawing.depth}, {"boxes", boxes}, {"edges", edges}};
}

Json kept_json(const analyzer::Kept& kept, bool certain) {
  return {{"bytes", kept.bytes},
          {"only_bytes", kept.only_bytes},
          {"certain", certain},
          {"nodes", kept.nodes},
          {"freed_nodes", kept.freed_nodes},
          {"leaves", kept.leaves},
          {"held_slots", kept.held_slots},
          {"python_held", kept.python_held},
          {"packed_slots", kept.packed_slots},
          {"empty_slots", kept.empty_slots},
          {"without_storage", kept.without_storage}};
}

}  // namespace

std::string graph_overview_json(const GraphView& view, const analyzer::GraphOverview& all,
                                const analyzer::GraphDrawing& drawing) {
  Json json = header(view, "overview");
  json["graphs"] = all.graphs;
  json["nodes"] = all.nodes;
  json["edges"] = all.edges;
  json["accumulators"] = all.accumulators;
  json["unused_accumulators"] = all.unused_accumulators;
  json["freed_nodes"] = all.freed_nodes;
  json["freed_by"] = freed_json(all.freed_by);
  json["partial_nodes"] = all.partial_nodes;
  json["python_nodes"] = all.python_nodes;
  json["keeps"] = kept_json(all.kept, all.certain);
  Json groups = Json::array();
  for (const analyzer::GraphGroup& group : all.groups) {
    const uint32_t root = group.roots.front();
    groups.push_back({{"class", view.graph.class_name(root)},
                      {"where", text_or_null(view.place(root))},
                      {"graphs", group.graphs},
                      {"nodes", group.nodes},
                      {"freed_nodes", group.freed_nodes},
                      {"bytes", group.bytes},
                      {"only_bytes", group.only_bytes},
                      {"names", group.names},
                      {"roots", group.roots}});
  }
  json["groups"] = groups;
  json["drawing"] = drawing_json(view, drawing);
  return written(view, json);
}

std::string graph_below_json(const GraphView& view, const analyzer::GraphBelow& below,
                             const analyzer::GraphDrawing& drawing) {
  Json json = header(view, "of");
  json["node"] = below.asked.front().node;
  Json asked = Json::array(), tensors = Json::array(), leaves = Json::array();
  for (const analyzer::GraphSubject& subject : below.asked) {
    asked.push_back({{"node", subject.node}, {"tensor", id_of(view, subject.tensor)}});
  }
  json["asked"] = asked;
  for (uint32_t tensor : view.tensors.tensors_of(below.asked.front().node)) {
    Json row = tensor_json(view, tensor);
    row["view_of"] = id_of(view, analyzer::base_of_view(view.dump, tensor));
    row["output"] = output_json(view.tensors.output_of(tensor).output);
    tensors.push_back(row);
  }
  json["tensors"] = tensors;
  json["operations"] = below.operations;
  json["freed_nodes"] = below.freed_nodes;
  json["freed_by"] = freed_json(below.freed_by);
  json["partial_nodes"] = below.partial_nodes;
  json["roots"] = below.roots;
  for (const analyzer::GraphLeaf& leaf : below.leaves) {
    leaves.push_back({{"node", leaf.node},
                      {"tensor", tensor_json(view, leaf.tensor)},
                      {"steps", leaf.steps},
                      {"paths", path_count_json(leaf.paths)},
                      {"endless", leaf.paths == analyzer::kEndlessPaths},
                      {"path", below.reach.path_to(leaf.node)}});
  }
  json["leaves"] = leaves;
  json["nodes"] = nodes_json(view, below.reach.nodes);
  json["drawing"] = drawing_json(view, drawing);
  return written(view, json);
}

std::string graph_path_json(const GraphView& view, uint32_t a, uint32_t b, const analyzer::GraphPath& path) {
  Json json = header(view, "path");
  json["a"] = tensor_json(view, a);
  json["b"] = tensor_json(view, b);
  json["found"] = !path.nodes.empty();
  json["output"] = path.nodes.empty() ? Json(nullptr) : id_of(view, path.output);
  json["input"] = path.nodes.empty() ? Json(nullptr) : id_of(view, path.input);
  json["steps"] = path.nodes.empty() ? Json(nullptr) : Json(path.nodes.size() - 1);
  json["paths"] = path_count_json(path.paths);
  json["path"] = path.nodes;
  Json outputs = Json::array();
  for (uint32_t output : path.outputs) outputs.push_back(output_json(output));
  json["outputs"] = outputs;
  json["saved_as"] = path.saved_in == kNone
                         ? Json(nullptr)
                         : Json(view.graph.slot_name(path.nodes.back(), view.graph.saved[path.saved_in]));
  json["nodes"] = nodes_json(view, path.nodes);
  return written(view, json);
}

std::string graph_keeps_json(const GraphView& view, uint32_t node, const analyzer::Kept& kept, bool certain) {
  Json json = header(view, "keeps");
  json["node"] = node;
  json.update(kept_json(kept, certain));
  Json storages = Json::array();
  for (const analyzer::KeptStorage& entry : kept.storages) {
    storages.push_back({{"storage", view.dump.storages[entry.storage].id},
                        {"bytes", entry.bytes},
                        {"only", entry.only},
                        {"slots", entry.slots},
                        {"tensor", tensor_json(view, entry.tensor)},
                        {"node", entry.node},
                        {"class", view.graph.class_name(entry.node)},
                        {"slot", entry.slot == kNone ? view.dump.references.rows[entry.reference].text
                                                     : view.graph.slot_name(entry.node, view.graph.saved[entry.slot])},
                        {"module", text_or_null(view.module(entry.node))},
                        {"where", text_or_null(view.place(entry.node))}});
  }
  json["storages"] = storages;
  return written(view, json);
}

std::string graph_neighbours_json(const GraphView& view, uint32_t tensor, const analyzer::GraphNeighbours& near) {
  Json json = header(view, "near");
  json["tensor"] = tensor_json(view, tensor);
  json["nodes"] = near.nodes;
  json["saved_by"] = near.saved_by;
  auto relatives = [&](const std::vector<analyzer::GraphRelative>& rows) {
    Json result = Json::array();
    for (const analyzer::GraphRelative& row : rows) {
      result.push_back(
          {{"tensor", id_of(view, row.tensor)}, {"name", row.name}, {"steps", row.steps}, {"path", row.nodes}});
    }
    return result;
  };
  json["same_storage"] = relatives(near.same_storage);
  json["same_node"] = relatives(near.same_node);
  json["used_for"] = relatives(near.used_for);
  json["made_from"] = relatives(near.made_from);
  return written(view, json);
}

}  // namespace tensorscope::exports
