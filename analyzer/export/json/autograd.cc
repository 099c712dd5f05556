// SPDX-License-Identifier: Apache-2.0
#include "export/json/autograd.h"

#include "dump/type_names.h"
#include "dump_generated.h"
#include "export/json/dump_fields.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;

Json node(const Dump& dump, const analyzer::Node& n) {
  return {{"id", n.serial},
          {"address", n.address},
          {"class", text_or_null(n.class_name)},
          {"name", text_or_null(analyzer::last_component(n.class_name))},
          {"alive", n.alive},
          {"thread", tid_json(dump, n.thread)},
          {"created_ns", n.created_ns},
          {"site", number_or_null(n.site)}};
}

std::string graph_node(const Dump& dump, const analyzer::Symbols& symbols, uint32_t number) {
  const analyzer::Graph& graph = dump.graph;
  const analyzer::GraphNode& n = graph.nodes[number];
  Json edges = Json::array(), saved = Json::array();
  for (const analyzer::GraphEdge& edge : graph.edges_of(number)) {
    edges.push_back({{"node", node_number_json(edge.node)}, {"input", edge.input}});
  }
  for (const analyzer::SavedSlot& slot : graph.saved_of(number)) {
    saved.push_back({{"slot", graph.slot_name(number, slot)},
                     {"tensor", tensor_id_json(dump, slot.tensor)},
                     {"state", format::EnumNameSlotState(format::SlotState(slot.state))},
                     {"output", slot.output}});
  }
  const bool seen = n.seen != analyzer::kNone;
  const uint32_t site = seen ? dump.nodes[n.seen].site : 0;
  return text_of({{"id", number},
                  {"address", n.address},
                  {"name", text_or_null(graph.class_name(number))},
                  {"node", seen ? Json(dump.nodes[n.seen].serial) : Json(nullptr)},
                  {"sequence", n.sequence},
                  {"accumulates", (n.flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0},
                  {"python", (n.flags & uint8_t(format::GraphNodeFlag::python)) != 0},
                  {"partial", (n.flags & uint8_t(format::GraphNodeFlag::partial)) != 0},
                  {"module_path", text_or_null(symbols.module_path(dump.sites[site]))},
                  {"site", number_or_null(site)},
                  {"edges", edges},
                  {"saved", saved}});
}

}  // namespace

void write_nodes_json(const Dump& dump, std::ostream& out) {
  write_rows(out, "nodes", dump.nodes.size(), [&](size_t i) { return text_of(node(dump, dump.nodes[i])); });
}

void write_graph_json(const Dump& dump, const analyzer::Symbols& symbols, std::ostream& out) {
  const analyzer::Graph& graph = dump.graph;
  if (!graph.present) {
    out << ",\n\"graph\":null";
    return;
  }
  out << ",\n\"graph\":" << begun_object({{"complete", graph.complete}, {"detail", text_or_null(graph.detail)}});
  write_rows(out, "nodes", graph.nodes.size(), [&](size_t i) { return graph_node(dump, symbols, uint32_t(i)); });
  out << "}";
}

}  // namespace tensorscope::exports
