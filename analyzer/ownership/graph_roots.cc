// SPDX-License-Identifier: Apache-2.0
#include "ownership/graph_roots.h"

#include <array>
#include <utility>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

// How good a reason a reference is, best first; what is itself held by the graph is none.
int rank_of(uint8_t root) {
  switch (format::ReferenceRoot(root)) {
    case format::ReferenceRoot::global:
    case format::ReferenceRoot::class_:
      return 0;
    case format::ReferenceRoot::local:
      return 1;
    case format::ReferenceRoot::suspended:
    case format::ReferenceRoot::thread:
      return 2;
    case format::ReferenceRoot::traceback:
    case format::ReferenceRoot::extension:
      return 3;
    case format::ReferenceRoot::cycle:
      return 4;
    default:
      return -1;
  }
}
constexpr int kRanks = 5;

}  // namespace

bool python_was_looked_through(const Dump& dump) {
  return dump.process.python_version.empty() || (dump.references.present && dump.references.complete);
}

const std::string GraphRoots::kNoRoot = "a graph without a Python root";
const std::string GraphRoots::kUnknownRoot = "a graph whose holder is not known";

GraphRoots::GraphRoots(const Dump& dump, const TensorLinks& links)
    : dump_(dump), holders_(1, python_was_looked_through(dump) ? kNoRoot : kUnknownRoot) {
  const size_t nodes = dump.graph.nodes.size();
  user_.assign(nodes, kNoNode);
  distance_.assign(nodes, 0);
  end_of_.assign(nodes, 0);
  holder_of_.assign(nodes, 0);

  std::array<std::vector<std::pair<uint32_t, std::string>>, kRanks> found;
  for (const NodeReference& reference : dump.references.nodes) {
    if (int rank = rank_of(reference.root); rank >= 0)
      found[size_t(rank)].emplace_back(reference.node, reference.line());
  }
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); tensor++) {
    const uint32_t node = links.grad_fn(tensor);
    if (node == kNoNode) continue;
    const Reference* best = nullptr;
    for (const Reference& reference : dump.references.of(tensor)) {
      const int rank = rank_of(reference.root);
      if (rank >= 0 && (best == nullptr || rank < rank_of(best->root))) best = &reference;
    }
    if (best != nullptr) found[size_t(rank_of(best->root))].emplace_back(node, best->line());
  }
  std::vector<uint32_t> queue;
  auto begin_at = [&](uint32_t node, uint32_t holder) {
    if (user_[node] != kNoNode) return;
    user_[node] = end_of_[node] = node;
    holder_of_[node] = holder;
    queue.push_back(node);
  };
  for (auto& rank : found) {
    for (auto& [node, text] : rank) {
      if (user_[node] != kNoNode) continue;
      begin_at(node, uint32_t(holders_.size()));
      holders_.push_back(std::move(text));
    }
  }
  walk(std::exchange(queue, {}));

  // What Python does not hold: from the ends of graphs, then whatever a damaged file left over.
  std::vector<uint8_t> used(nodes);
  for (const GraphEdge& edge : dump.graph.edges) {
    if (edge.node != kNoNode) used[edge.node] = 1;
  }
  for (uint32_t node = 0; node < nodes; node++) {
    if (!used[node]) begin_at(node, 0);
  }
  walk(std::exchange(queue, {}));
  for (uint32_t node = 0; node < nodes; node++) begin_at(node, 0);
}

void GraphRoots::walk(std::vector<uint32_t> queue) {
  for (size_t at = 0; at < queue.size(); at++) {
    const uint32_t node = queue[at];
    for (const GraphEdge& edge : dump_.graph.edges_of(node)) {
      if (edge.node == kNoNode || user_[edge.node] != kNoNode) continue;
      user_[edge.node] = node;
      distance_[edge.node] = distance_[node] + 1;
      end_of_[edge.node] = end_of_[node];
      queue.push_back(edge.node);
    }
  }
}

const std::string& GraphRoots::root(uint32_t node) const { return holders_[holder_of_[end_of_[node]]]; }

std::string GraphRoots::chain(const std::string& begin, uint32_t node) const {
  constexpr uint32_t kAll = 4;  // nodes that are all shown
  std::string text = begin;
  const uint32_t count = distance_[node] + 1, shown = count <= kAll ? count : 2;
  for (uint32_t i = 1; i < shown; i++) {
    node = user_[node];
    text += " <- " + dump_.graph.class_name(node);
  }
  if (shown < count) text += " <- ... (" + std::to_string(count) + " nodes)";
  return text + " <- " + root(node);
}

std::string GraphRoots::brief_chain(const std::string& begin, uint32_t node) const {
  return begin + (distance_[node] > 0 ? " <- ... <- " : " <- ") + root(node);
}

}  // namespace tensorscope::analyzer
