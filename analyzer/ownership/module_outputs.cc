#include "ownership/module_outputs.h"

#include <string_view>
#include <unordered_set>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMostOutputNames = 16;  // of one tensor
constexpr int kMaxSteps = 512;           // up two stacks of calls; only a damaged file has more

using format::ReferenceRole;
using format::ReferenceRoot;

class OutputFinder {
 public:
  OutputFinder(const Dump& dump, const FrameFacts& facts, const TensorLinks& links)
      : dump_(dump), facts_(facts), links_(links) {
    for (const auto& [object, name] : dump.module_names)
      roots_.insert(name.path.substr(0, name.path.find_first_of(".[")));
    find_users();
  }

  // The outermost call that a tensor left; 0: it left none.
  uint32_t call_left(uint32_t tensor) const {
    const uint32_t node = links_.creator(tensor);
    const uint32_t site = site_of(tensor, node);
    if (facts_.call(site) == 0 || (node != kNoNode && casts_leaf(node))) return 0;
    if (node != kNoNode && used_[node]) return left_to_users_[node];
    return left_to_variables(tensor, site);
  }

  uint32_t site_of(uint32_t tensor, uint32_t node) const {
    if (node == kNoNode) return dump_.tensors[tensor].site;
    const uint32_t seen = dump_.graph.nodes[node].seen;
    return seen == kNone ? dump_.tensors[tensor].site : dump_.nodes[seen].site;
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
  bool in_module(const std::string& text) const { return roots_.contains(text.substr(0, text.find_first_of(".["))); }

  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  std::unordered_set<std::string> roots_;
  std::vector<uint8_t> used_;
  std::vector<uint32_t> left_to_users_;
};

}  // namespace

std::vector<std::vector<std::string>> module_outputs(const Dump& dump, const FrameFacts& facts,
                                                     const TensorLinks& links) {
  std::vector<std::vector<std::string>> names(dump.tensors.size());
  if (dump.module_names.empty()) return names;
  OutputFinder finder(dump, facts, links);
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); tensor++) {
    const uint32_t outermost = finder.call_left(tensor);
    if (outermost == 0) continue;
    const uint32_t site = finder.site_of(tensor, links.creator(tensor));
    std::vector<uint32_t> left;
    for (uint32_t call = facts.call(site); call != 0; call = facts.outer_call(call)) {
      left.push_back(call);
      if (call == outermost) break;
    }
    for (size_t i = left.size(); i-- > 0 && left.size() - i <= kMostOutputNames;) {
      names[tensor].push_back(facts.path(left[i]) + ".out");
    }
  }
  return names;
}

}  // namespace tensorscope::analyzer
