// SPDX-License-Identifier: Apache-2.0
#include "dump/graph_chunk.h"

#include <algorithm>

#include "dump/chunk.h"
#include "dump/string_table.h"

namespace tensorscope::dump {

namespace {
constexpr size_t kNodeRows = 16384;
static_assert(kNodeRows <= format::kMaxRowsPerChunk);
}  // namespace

bool write_graph(const torch::Graph& graph, DumpFile& file) {
  size_t begin = 0, edge = 0, slot = 0, function = 0;
  std::vector<format::GraphNode> rows;
  do {
    const size_t end = std::min(begin + kNodeRows, graph.nodes.size());
    StringTable strings;
    rows.clear();
    size_t edges = 0, saved = 0;
    for (; begin < end; ++begin) {
      const torch::Graph::Node& node = graph.nodes[begin];
      uint32_t name = 0;
      if ((node.flags & uint8_t(format::GraphNodeFlag::python)) != 0 && function < graph.functions.size()) {
        name = strings.intern(graph.functions[function++]);
      }
      if (name == 0) name = strings.intern_literal(graph.class_names[node.class_number]);
      rows.emplace_back(node.address, node.serial, node.object, node.sequence, name, node.edges, node.saved,
                        node.flags);
      edges += node.edges;
      saved += node.saved;
    }
    const bool last = begin == graph.nodes.size();
    Chunk chunk(format::kGraph, rows.size() * sizeof(format::GraphNode) + edges * sizeof(format::GraphEdge) +
                                    saved * sizeof(format::SavedSlot) + 1024);
    auto& builder = chunk.builder();
    std::vector<flatbuffers::Offset<flatbuffers::String>> values;
    for (const std::string& value : strings.values()) values.push_back(chunk.string(value));
    auto texts = builder.CreateVector(values);
    auto detail = chunk.string(last ? graph.detail : "");
    auto node_rows = builder.CreateVectorOfStructs(rows);
    auto edge_rows = builder.CreateVectorOfStructs(graph.edges.data() + edge, edges);
    auto saved_rows = builder.CreateVectorOfStructs(graph.saved.data() + slot, saved);
    edge += edges;
    slot += saved;
    if (!chunk.append_to(file, format::CreateGraphRows(builder, node_rows, edge_rows, saved_rows, texts,
                                                       last && graph.complete, detail))) {
      return false;
    }
  } while (begin < graph.nodes.size());
  return true;
}

}  // namespace tensorscope::dump
