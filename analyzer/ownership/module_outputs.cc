// SPDX-License-Identifier: Apache-2.0
#include "ownership/module_outputs.h"

#include <string_view>
#include <unordered_set>

#include "dump_generated.h"
#include "tensorscope/rules/reference_text.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxOutputNames = 16;  // of one tensor
constexpr int kMaxSteps = 512;          // up two stacks of calls; only a damaged file has more

using format::ReferenceRole;
using format::ReferenceRoot;

using rules::variable_of;

// Of the node that made a tensor, where somebody saw it being attached.
uint32_t creation_site(const Dump& dump, uint32_t tensor, uint32_t node) {
  const uint32_t seen = node == kNoNode ? kNone : dump.graph.nodes[node].seen;
  return seen == kNone ? dump.tensors[tensor].site : dump.nodes[seen].site;
}

class OutputFinder {
 public:
  OutputFinder(const Dump& dump, const FrameFacts& facts, const TensorLinks& links)
      : dump_(dump), facts_(facts), links_(links) {
    for (const auto& [object, name] : dump.module_names) roots_.insert(variable_of(name.path));
    find_users();
  }

  // The outermost call that a tensor left; 0: it left none.
  uint32_t call_left(uint32_t tensor) const {
    const uint32_t node = links_.creator(tensor);
    const uint32_t site = creation_site(dump_, tensor, node);
    if (facts_.call(site) == 0 || (node != kNoNode && casts_leaf(node))) return 0;
    if (node != kNoNode && used_[node]) return left_to_users_[node];
    return left_to_variables(tensor, site);
  }

 private:
  uint32_t site_of_node(uint32_t node) const {
    const uint32_t seen = dump_.graph.nodes[node].seen;
    return seen == kNone ? 0 : dump_.nodes[seen].site;
  }

  // Autocast's copy of a weight is used again wherever the weight is, and is no output for that.
  bool casts_leaf(uint32_t node) const {
    if (dump_.graph.class_name(node) != "ToCopyBackward0") return false;
    const auto edges = dump_.graph.edges_of(node);
    return edges.size() == 1 && edges[0].node != kNoNode && links_.accumulates(edges[0].node);
  }

  // For each node the outermost call around it that one of its users is not in.
  void find_users() {
    used_.assign(dump_.graph.nodes.size(), 0);
    left_to_users_.assign(dump_.graph.nodes.size(), 0);
    for (uint32_t user = 0; user < dump_.graph.nodes.size(); user++) {
      for (const GraphEdge& edge : dump_.graph.edges_of(user)) {
        if (edge.node == kNoNode) continue;
        used_[edge.node] = 1;
        const uint32_t to = site_of_node(user);
        if (to == 0) continue;  // nobody saw where the user was made
        const uint32_t left = outermost_left(site_of_node(edge.node), to);
        // Of two calls around one node the outer one has the smaller number.
        uint32_t& most = left_to_users_[edge.node];
        if (left != 0 && (most == 0 || left < most)) most = left;
      }
    }
  }

  // The outermost call around `from` that is not around `to`. Calls around one place are numbered from the outside.
  uint32_t outermost_left(uint32_t from, uint32_t to) const {
    uint32_t left = 0, inner = facts_.call(from), other = facts_.call(to);
    for (int steps = 0; inner != 0 && inner != other && steps < kMaxSteps; steps++) {
      if (inner > other) {
        left = inner;
        inner = facts_.outer_call(inner);
      } else {
        other = facts_.outer_call(other);
      }
    }
    return left;
  }

  uint32_t left_to_variables(uint32_t tensor, uint32_t site) const {
    uint32_t most = 0;
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (ReferenceRole(reference.role) != ReferenceRole::plain || in_module(reference.text)) continue;
      uint32_t left = 0;
      if (ReferenceRoot(reference.root) == ReferenceRoot::local) {
        left = facts_.calls_left(site, reference.scope);
      } else if (ReferenceRoot(reference.root) == ReferenceRoot::global) {
        left = facts_.call(site);
        while (facts_.outer_call(left) != 0) left = facts_.outer_call(left);
      }
      if (left != 0 && (most == 0 || left < most)) most = left;
    }
    return most;
  }

  // Whether a chain begins with a variable that holds a module: then it is something that the module keeps.
  bool in_module(std::string_view text) const { return roots_.contains(variable_of(text)); }

  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  std::unordered_set<std::string_view> roots_;  // of texts in the dump
  std::vector<uint8_t> used_;
  std::vector<uint32_t> left_to_users_;
};

}  // namespace

ModuleOutputs::ModuleOutputs(const Dump& dump, const FrameFacts& facts, const TensorLinks& links)
    : dump_(dump), facts_(facts), links_(links) {
  if (dump.module_names.empty()) return;
  const OutputFinder finder(dump, facts, links);
  outermost_.reserve(dump.tensors.size());
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); tensor++) outermost_.push_back(finder.call_left(tensor));
}

std::vector<std::string> ModuleOutputs::names(uint32_t tensor) const {
  if (!returned_from_call(tensor)) return {};
  std::vector<uint32_t> left;
  const uint32_t site = creation_site(dump_, tensor, links_.creator(tensor));
  for (uint32_t call = facts_.call(site); call != 0; call = facts_.outer_call(call)) {
    left.push_back(call);
    if (call == outermost_[tensor]) break;
  }
  std::vector<std::string> names;
  for (size_t i = left.size(); i-- > 0 && left.size() - i <= kMaxOutputNames;) {
    names.push_back(facts_.path(left[i]) + ".out");
  }
  return names;
}

}  // namespace tensorscope::analyzer
