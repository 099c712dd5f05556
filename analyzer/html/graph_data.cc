// SPDX-License-Identifier: Apache-2.0
#include "html/graph_data.h"

#include "text/text.h"

namespace tensorscope::html {

Json graph_data(analyzer::OpenedDump& opened, Texts& texts, Payload& payload) {
  const analyzer::Dump& dump = opened.dump;
  const analyzer::Graph& graph = dump.graph;
  if (!graph.present) return nullptr;
  // Of node n: edges[edge_end[n - 1]] to edges[edge_end[n] - 1], saved tensors alike.
  std::vector<uint64_t> name, module, where, edge_end, edge, saved_end, saved_tensor, saved_slot;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    const uint32_t seen = graph.nodes[node].seen;
    const uint32_t site = seen == analyzer::kNone ? 0 : dump.nodes[seen].site;
    name.push_back(texts.number(text::clean(graph.class_name(node))));
    module.push_back(texts.number(site == 0 ? "" : text::clean(opened.places.module_path(site))));
    where.push_back(texts.number(site == 0 ? "" : text::clean(opened.places.at(site).where)));
    for (const analyzer::GraphEdge& to : graph.edges_of(node)) {
      if (to.node != analyzer::kNoNode) edge.push_back(to.node);
    }
    edge_end.push_back(edge.size());
    for (const analyzer::SavedSlot& slot : graph.saved_of(node)) {
      if (slot.tensor == analyzer::kNone) continue;
      saved_tensor.push_back(slot.tensor);
      saved_slot.push_back(texts.number(text::clean(graph.slot_name(node, slot))));
    }
    saved_end.push_back(saved_tensor.size());
  }
  return {{"complete", graph.complete},
          {"detail", text::clean(graph.detail)},
          {"name", payload.column(name)},
          {"module", payload.column(module)},
          {"where", payload.column(where)},
          {"edge_end", payload.column(edge_end)},
          {"edge", payload.column(edge)},
          {"saved_end", payload.column(saved_end)},
          {"saved_tensor", payload.column(saved_tensor)},
          {"saved_slot", payload.column(saved_slot)}};
}

}  // namespace tensorscope::html
