// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/node_rows.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "python/heap_inspector/rows/tensor_objects.h"

namespace tensorscope::python::heap_inspector {

namespace {

using format::ReferenceRoot;

constexpr size_t kMaxRows = 4;  // of one node

struct Row {
  uint32_t holder, object, node, answer;
};

bool choose_rows(const ObjectGraph& graph, const std::unordered_map<uint32_t, uint32_t>& nodes,
                 const ObjectPaths& paths, Chains& chains, LookLimits& limits, PageArray<Row>& rows) {
  bool room = true;
  std::unordered_map<uint32_t, size_t> count;
  for (uint32_t from = 0; from < graph.size(); ++from) {
    for (const uint32_t to : graph.references(from)) {
      const auto found = nodes.find(to);
      if (found == nodes.end() || !paths.reached(from) || count[to]++ >= kMaxRows) continue;
      if (limits.reached()) return false;
      room = room && rows.push({from, to, found->second, chains.want(from, to)});
    }
    if (limits.reached()) return false;
  }
  for (const auto& [object, node] : nodes) {
    if (limits.reached()) return false;
    if (!paths.is_root(object)) continue;
    if (paths.root(object)->kind == ReferenceRoot::local) room = room && rows.push({kNoObject, object, node, 0});
    chains.want(object);
  }
  if (!room) limits.memory_ran_out();
  return room;
}

}  // namespace

void write_node_rows(const ObjectGraph& graph, const torch::GraphSeeds& seeds, const ObjectPaths& paths, Chains& chains,
                     LookLimits& limits, Beginnings& beginnings, References& out) {
  std::unordered_map<uint32_t, uint32_t> nodes;  // object -> node
  for (const auto& node : seeds.nodes) {
    if (limits.reached()) return;
    const uint32_t object = node.object == 0 ? kNoObject : graph.find(reinterpret_cast<const Object*>(node.object));
    if (object != kNoObject && has_word(graph.object(object), node.address)) nodes[object] = node.number;
  }
  if (nodes.empty()) return;
  PageArray<Row> rows;
  if (!choose_rows(graph, nodes, paths, chains, limits, rows) || !chains.find_steps()) return;
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::tie(a.node, a.holder) < std::tie(b.node, b.holder); });
  for (const Row& row : rows) {
    Chain chain = chains.of(row.holder == kNoObject ? row.object : row.holder);
    if (row.holder != kNoObject) chains.extend_to_held(chain, row.holder, row.object, row.answer);
    const uint32_t text = out.strings.intern(chain.text), scope = out.strings.intern(chain.scope);
    if (!chains.ready() || out.strings.full()) return;
    const bool room = out.nodes.emplace_back(text, scope, row.node, chain.root) &&
                      out.node_call_of.push(beginnings.row_of_call(chain.root, chain.call)) &&
                      out.node_begins_at.push(beginnings.row_of_object(chain.begins_at));
    if (!room) return limits.memory_ran_out();
  }
}

}  // namespace tensorscope::python::heap_inspector
