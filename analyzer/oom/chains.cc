// SPDX-License-Identifier: Apache-2.0
#include "oom/chains.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "dump_generated.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kMinLength = 2;       // one earlier value may be this step's own
constexpr size_t kMaxVariables = 64;   // each needs a walk over the graph
constexpr size_t kSmallContainer = 4;  // (h, c)

const Node* seen(const Dump& dump, uint32_t node) {
  const uint32_t index = node == kNoNode ? kNone : dump.graph.nodes[node].seen;
  return index == kNone ? nullptr : &dump.nodes[index];
}

// A variable of the program; in a module's forward a state that goes through the steps of a sequence is as it should
// be.
bool may_carry(const Series& series) {
  const bool local = format::ReferenceRoot(series.example.root) == format::ReferenceRoot::local;
  const bool in_forward = local && series.example.scope.ends_with("forward");
  return in_plain_variable(series.example) && !in_forward &&
         (!series.container || series.members.back().size() <= kSmallContainer);
}

class ChainFinder {
 public:
  explicit ChainFinder(const LeakAnalysis& analysis) : analysis_(analysis), dump_(analysis.last().dump) {}

  std::vector<Chain> find() {
    if (!dump_.graph.present) return {};
    for (const Series& series : analysis_.series()) {
      if (!may_carry(series)) continue;
      for (uint32_t tensor : series.members.back()) {
        if (analysis_.retention().node_of(tensor) != kNoNode) variables_.push_back({&series, tensor});
      }
    }
    if (variables_.size() > kMaxVariables) variables_.resize(kMaxVariables);
    std::vector<Chain> chains;
    for (const Variable& variable : variables_) {
      if (std::optional<Chain> chain = chain_of(variable)) chains.push_back(std::move(*chain));
    }
    // Of two that lead to one another the one that was computed last is on the way to the next value of the other.
    std::stable_sort(chains.begin(), chains.end(), [](const Chain& a, const Chain& b) { return a.length > b.length; });
    std::vector<Chain> result;
    for (Chain& chain : chains) {
      const bool known = std::any_of(result.begin(), result.end(), [&](const Chain& taken) {
        return std::find(taken.freed.begin(), taken.freed.end(), chain.tensor) != taken.freed.end() ||
               (!chain.freed.empty() &&
                std::includes(taken.freed.begin(), taken.freed.end(), chain.freed.begin(), chain.freed.end()));
      });
      if (!known) result.push_back(std::move(chain));
    }
    return result;
  }

 private:
  struct Variable {
    const Series* series;
    uint32_t tensor;
  };

  std::vector<uint32_t> below(uint32_t node) const {
    const std::vector<uint32_t> from = {node};
    return analysis_.retention().nodes_below(from);
  }

  std::optional<Chain> chain_of(const Variable& variable) {
    const uint32_t node = analysis_.retention().node_of(variable.tensor);
    const Node* now = seen(dump_, node);
    if (now == nullptr || now->site == 0) return std::nullopt;
    Chain chain;
    uint32_t previous = kNoNode;
    for (uint32_t other : below(node)) {
      const Node* earlier = seen(dump_, other);
      if (other == node || earlier == nullptr || earlier->site != now->site) continue;
      if (dump_.graph.nodes[other].class_name != dump_.graph.nodes[node].class_name) continue;
      ++chain.length;
      if (previous == kNoNode || earlier->serial > seen(dump_, previous)->serial) previous = other;
    }
    if (chain.length < kMinLength) return std::nullopt;
    chain.series = variable.series;
    chain.tensor = variable.tensor;
    chain.site = now->site;
    chain.sum = is_sum(variable.tensor, node, previous);
    find_freed(chain, previous);
    return chain;
  }

  // One input is the earlier value, and no other comes out of it.
  bool is_sum(uint32_t tensor, uint32_t node, uint32_t previous) const {
    if (dump_.tensors[tensor].numel == 1) return true;
    const std::string_view name = dump_.graph.class_name(node);
    if (name != "AddBackward0" && name != "SubBackward0" && name != "CatBackward0") return false;
    bool direct = false, other_way = false;
    for (const GraphEdge& edge : dump_.graph.edges_of(node)) {
      if (edge.node == previous) {
        direct = true;
      } else if (edge.node != kNoNode) {
        const std::vector<uint32_t> nodes = below(edge.node);
        other_way = other_way || std::find(nodes.begin(), nodes.end(), previous) != nodes.end();
      }
    }
    return direct && !other_way;
  }

  // A state's last step is needed by its backward: what is saved by nodes that are no newer than the value before, and
  // by no other node. A sum that is detached keeps nothing of any value.
  void find_freed(Chain& chain, uint32_t previous) {
    for (const Variable& variable : variables_) {
      const std::vector<uint32_t> nodes = below(analysis_.retention().node_of(variable.tensor));
      if (std::find(nodes.begin(), nodes.end(), previous) != nodes.end()) chain.variables.push_back(variable.tensor);
    }
    const Retained kept = analysis_.retention().only_by(chain.variables);
    const uint64_t last = seen(dump_, previous)->serial;
    std::vector<bool> older(dump_.graph.nodes.size());
    for (uint32_t node : kept.nodes) {
      const Node* made = seen(dump_, node);
      older[node] = chain.sum || (made != nullptr && made->serial <= last);
    }
    std::vector<uint8_t> savers(dump_.tensors.size());  // 1: an older node, 2: another one
    for (uint32_t node = 0; node < dump_.graph.nodes.size(); ++node) {
      for (const SavedSlot& slot : dump_.graph.saved_of(node)) {
        if (holds(slot)) savers[slot.tensor] |= older[node] ? 1 : 2;
      }
    }
    const std::unordered_set<uint32_t> stay(chain.variables.begin(), chain.variables.end());
    for (uint32_t tensor : kept.tensors) {
      if ((savers[tensor] & 2) == 0 && !stay.contains(tensor)) chain.freed.push_back(tensor);
    }
    std::sort(chain.freed.begin(), chain.freed.end());
  }

  const LeakAnalysis& analysis_;
  const Dump& dump_;
  std::vector<Variable> variables_;
};

}  // namespace

std::vector<Chain> find_chains(const LeakAnalysis& analysis) { return ChainFinder(analysis).find(); }

}  // namespace tensorscope::analyzer::oom
