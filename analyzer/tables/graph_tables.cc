// SPDX-License-Identifier: Apache-2.0
// The autograd graph of a dump: nodes, edges, what they saved; and the nodes that were seen being attached to a tensor.
#include "dump_generated.h"
#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using analyzer::GraphNode;
using enum Type;

const GraphNode& node_at(InputFile& file, const Row& row) { return file.dump().graph.nodes[row.index]; }
const analyzer::Node* seen_at(InputFile& file, const Row& row) {
  return node_at(file, row).seen == analyzer::kNone ? nullptr : &file.dump().nodes[node_at(file, row).seen];
}
bool flagged(InputFile& file, const Row& row, format::GraphNodeFlag flag) {
  return (node_at(file, row).flags & uint8_t(flag)) != 0;
}
void node_cell(InputFile&, const Row& row, ColumnData& column) { column.int64(row.index); }

constexpr Column kNodes[] = {
    kDumpColumn,
    {"node", int64, "number in this dump", node_cell},
    {"class", dictionary, "\"AddmmBackward0\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, file.dump().graph.class_name(uint32_t(row.index)));
     }},
    {"sequence", int64, "torch's number: later operations have larger ones",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(node_at(file, row).sequence); }},
    {"edges", int64, "how many",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(node_at(file, row).edge_count); }},
    {"saved", int64, "slots for saved tensors",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(node_at(file, row).saved_count); }},
    {"accumulates", boolean, "AccumulateGrad of a leaf",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.boolean(flagged(file, row, format::GraphNodeFlag::accumulates));
     }},
    {"is_python", boolean, "a torch.autograd.Function of the program",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.boolean(flagged(file, row, format::GraphNodeFlag::python));
     }},
    {"is_partial", boolean, "edges or saved slots may be missing",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.boolean(flagged(file, row, format::GraphNodeFlag::partial));
     }},
    {"seen_node", int64, "its row in `seen_nodes`",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (seen_at(file, row) != nullptr) column.int64(seen_at(file, row)->serial);
     }},
    {"site", int64, "of the forward operation",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (seen_at(file, row) != nullptr) number_or_null(column, seen_at(file, row)->site);
     }},
    {"place", dictionary, "the same as one line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (seen_at(file, row) != nullptr) place_or_null(file, column, seen_at(file, row)->site);
     }},
    {"module", dictionary, "nn.Module of the forward operation",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (seen_at(file, row) != nullptr)
         text_or_null(column, file.opened().places.module_path(seen_at(file, row)->site));
     }},
    {"address", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(node_at(file, row).address); }},
};

const analyzer::GraphEdge& edge_at(InputFile& file, const Row& row) {
  return file.dump().graph.edges_of(uint32_t(row.index))[row.part];
}

constexpr Column kEdges[] = {
    kDumpColumn,
    {"node", int64, "node", node_cell},
    {"position", int64, "in its next_functions",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.part); }},
    {"next_node", int64, "node that gets the gradient; null: the input needs none",
     [](InputFile& file, const Row& row, ColumnData& column) { index_or_null(column, edge_at(file, row).node); }},
    {"input", int64, "of the next node",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(edge_at(file, row).input); }},
};

const analyzer::SavedSlot& saved_at(InputFile& file, const Row& row) {
  return file.dump().graph.saved_of(uint32_t(row.index))[row.part];
}

constexpr Column kSaved[] = {
    kDumpColumn,
    {"node", int64, "node", node_cell},
    {"slot", dictionary, "\"self\", \"indices[2]\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(file.dump().graph.slot_name(uint32_t(row.index), saved_at(file, row)));
     }},
    {"tensor", int64, "tensor that it keeps alive",
     [](InputFile& file, const Row& row, ColumnData& column) {
       tensor_or_null(file, column, saved_at(file, row).tensor);
     }},
    {"state", dictionary, "held, empty, packed (by saved-tensor hooks)",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameSlotState(format::SlotState(saved_at(file, row).state)));
     }},
    {"is_output", boolean, "an alias of the operation's own output",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(saved_at(file, row).output); }},
};

const analyzer::Node& attached_at(InputFile& file, const Row& row) { return file.dump().nodes[row.index]; }

constexpr Column kSeenNodes[] = {
    kDumpColumn,
    {"seen_node", int64, "id; the same in all dumps of a run",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(attached_at(file, row).serial); }},
    {"class", dictionary, "\"AddmmBackward0\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, attached_at(file, row).class_name);
     }},
    {"alive", boolean, "false: dead, or not known",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(attached_at(file, row).alive); }},
    {"site", int64, "of the forward operation",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, attached_at(file, row).site); }},
    {"place", dictionary, "the same as one line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, attached_at(file, row).site);
     }},
    {"backward_site", int64, "of the last allocation made while its backward ran",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, attached_at(file, row).ran_site);
     }},
    {"thread", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, attached_at(file, row).thread);
     }},
    {"created_ns", int64, "when, monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, attached_at(file, row).created_ns);
     }},
};

template <typename Parts>
void each_of_node(InputFile& file, const VisitRow& visit, Parts parts) {
  const analyzer::Graph& graph = file.dump().graph;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    const size_t count = parts(graph, node).size();
    for (size_t part = 0; part < count; ++part) {
      if (!visit({.index = node, .part = part})) return;
    }
  }
}

constexpr Table kGraphTables[] = {
    {"nodes", "Nodes of the autograd graph.", FileKind::dump, kNodes,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().graph.nodes.size(), visit); }},
    {"edges", "Edges of the autograd graph, in the direction of backward.", FileKind::dump, kEdges,
     [](InputFile& file, const VisitRow& visit) {
       each_of_node(file, visit, [](const analyzer::Graph& graph, uint32_t node) { return graph.edges_of(node); });
     }},
    {"saved", "Slots of the nodes for saved tensors.", FileKind::dump, kSaved,
     [](InputFile& file, const VisitRow& visit) {
       each_of_node(file, visit, [](const analyzer::Graph& graph, uint32_t node) { return graph.saved_of(node); });
     }},
    {"seen_nodes", "Nodes that were seen when they became a tensor's grad_fn.", FileKind::dump, kSeenNodes,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().nodes.size(), visit); }},
};

}  // namespace

std::span<const Table> graph_tables() { return kGraphTables; }

}  // namespace tensorscope::tables
