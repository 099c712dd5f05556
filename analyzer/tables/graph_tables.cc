// The autograd graph of a dump: nodes, edges, what they saved; and the nodes that were seen being attached to a tensor.
#include "dump_generated.h"
#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using analyzer::GraphNode;
using enum Type;

const GraphNode& node_at(In in, At at) { return in.dump().graph.nodes[at.index]; }
const analyzer::Node* seen_at(In in, At at) {
  return node_at(in, at).seen == analyzer::kNone ? nullptr : &in.dump().nodes[node_at(in, at).seen];
}
bool flagged(In in, At at, format::GraphNodeFlag flag) { return (node_at(in, at).flags & uint8_t(flag)) != 0; }
void node_cell(In, At at, Out out) { out.whole(at.index); }

constexpr Column kNodes[] = {
    kDumpColumn,
    {"node", whole, "number in this dump", node_cell},
    {"class", word, "\"AddmmBackward0\"",
     [](In in, At at, Out out) { text_or_null(out, in.dump().graph.class_name(uint32_t(at.index))); }},
    {"sequence", whole, "torch's number: later operations have larger ones",
     [](In in, At at, Out out) { out.whole(node_at(in, at).sequence); }},
    {"edges", whole, "how many", [](In in, At at, Out out) { out.whole(node_at(in, at).edge_count); }},
    {"saved", whole, "slots for saved tensors", [](In in, At at, Out out) { out.whole(node_at(in, at).saved_count); }},
    {"accumulates", truth, "AccumulateGrad of a leaf",
     [](In in, At at, Out out) { out.truth(flagged(in, at, format::GraphNodeFlag::accumulates)); }},
    {"is_python", truth, "a torch.autograd.Function of the program",
     [](In in, At at, Out out) { out.truth(flagged(in, at, format::GraphNodeFlag::python)); }},
    {"is_partial", truth, "edges or saved slots may be missing",
     [](In in, At at, Out out) { out.truth(flagged(in, at, format::GraphNodeFlag::partial)); }},
    {"seen_node", whole, "its row in `seen_nodes`",
     [](In in, At at, Out out) {
       if (seen_at(in, at) != nullptr) out.whole(seen_at(in, at)->serial);
     }},
    {"site", whole, "of the forward operation",
     [](In in, At at, Out out) {
       if (seen_at(in, at) != nullptr) number_or_null(out, seen_at(in, at)->site);
     }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) {
       if (seen_at(in, at) != nullptr) place_or_null(in, out, seen_at(in, at)->site);
     }},
    {"module", word, "nn.Module of the forward operation",
     [](In in, At at, Out out) {
       if (seen_at(in, at) != nullptr) text_or_null(out, in.opened().places.module_path(seen_at(in, at)->site));
     }},
    {"address", whole, "", [](In in, At at, Out out) { out.whole(node_at(in, at).address); }},
};

const analyzer::GraphEdge& edge_at(In in, At at) { return in.dump().graph.edges_of(uint32_t(at.index))[at.part]; }

constexpr Column kEdges[] = {
    kDumpColumn,
    {"node", whole, "node", node_cell},
    {"position", whole, "in its next_functions", [](In, At at, Out out) { out.whole(at.part); }},
    {"next_node", whole, "node that gets the gradient; null: the input needs none",
     [](In in, At at, Out out) { index_or_null(out, edge_at(in, at).node); }},
    {"input", whole, "of the next node", [](In in, At at, Out out) { out.whole(edge_at(in, at).input); }},
};

const analyzer::SavedSlot& saved_at(In in, At at) { return in.dump().graph.saved_of(uint32_t(at.index))[at.part]; }

constexpr Column kSaved[] = {
    kDumpColumn,
    {"node", whole, "node", node_cell},
    {"slot", word, "\"self\", \"indices[2]\"",
     [](In in, At at, Out out) { out.text(in.dump().graph.slot_name(uint32_t(at.index), saved_at(in, at))); }},
    {"tensor", whole, "tensor that it keeps alive",
     [](In in, At at, Out out) { tensor_or_null(in, out, saved_at(in, at).tensor); }},
    {"state", word, "held, empty, packed (by saved-tensor hooks)",
     [](In in, At at, Out out) { out.text(format::EnumNameSlotState(format::SlotState(saved_at(in, at).state))); }},
    {"is_output", truth, "an alias of the operation's own output",
     [](In in, At at, Out out) { out.truth(saved_at(in, at).output); }},
};

const analyzer::Node& attached_at(In in, At at) { return in.dump().nodes[at.index]; }

constexpr Column kSeenNodes[] = {
    kDumpColumn,
    {"seen_node", whole, "id; the same in all dumps of a run",
     [](In in, At at, Out out) { out.whole(attached_at(in, at).serial); }},
    {"class", word, "\"AddmmBackward0\"",
     [](In in, At at, Out out) { text_or_null(out, attached_at(in, at).class_name); }},
    {"alive", truth, "false: dead, or not known", [](In in, At at, Out out) { out.truth(attached_at(in, at).alive); }},
    {"site", whole, "of the forward operation",
     [](In in, At at, Out out) { number_or_null(out, attached_at(in, at).site); }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) { place_or_null(in, out, attached_at(in, at).site); }},
    {"backward_site", whole, "of the last allocation made while its backward ran",
     [](In in, At at, Out out) { number_or_null(out, attached_at(in, at).ran_site); }},
    {"thread", whole, "", [](In in, At at, Out out) { number_or_null(out, attached_at(in, at).thread); }},
    {"created_ns", whole, "when, monotonic clock",
     [](In in, At at, Out out) { number_or_null(out, attached_at(in, at).created_ns); }},
};

template <typename Parts>
void each_of_node(In in, const VisitRow& visit, Parts parts) {
  const analyzer::Graph& graph = in.dump().graph;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    const size_t count = parts(graph, node).size();
    for (size_t part = 0; part < count; ++part) {
      if (!visit({.index = node, .part = part})) return;
    }
  }
}

constexpr Table kGraphTables[] = {
    {"nodes", "Nodes of the autograd graph.", FileKind::dump, kNodes,
     [](In in, const VisitRow& visit) { each_index(in.dump().graph.nodes.size(), visit); }},
    {"edges", "Edges of the autograd graph, in the direction of backward.", FileKind::dump, kEdges,
     [](In in, const VisitRow& visit) {
       each_of_node(in, visit, [](const analyzer::Graph& graph, uint32_t node) { return graph.edges_of(node); });
     }},
    {"saved", "Slots of the nodes for saved tensors.", FileKind::dump, kSaved,
     [](In in, const VisitRow& visit) {
       each_of_node(in, visit, [](const analyzer::Graph& graph, uint32_t node) { return graph.saved_of(node); });
     }},
    {"seen_nodes", "Nodes that were seen when they became a tensor's grad_fn.", FileKind::dump, kSeenNodes,
     [](In in, const VisitRow& visit) { each_index(in.dump().nodes.size(), visit); }},
};

}  // namespace

std::span<const Table> graph_tables() { return kGraphTables; }

}  // namespace tensorscope::tables
