// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_collapse.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ownership/module_tree.h"

namespace tensorscope::analyzer {

namespace {

constexpr uint32_t kDeepest = 16;  // names of a path that collapse_to() tries

class Collapser {
 public:
  Collapser(const Graph& graph, const GraphWalk& walk, std::span<const uint32_t> nodes, const NodePlaces& places,
            Collapse how, uint32_t depth)
      : graph_(graph), walk_(walk), places_(places), how_(how), depth_(depth), box_of_(graph.nodes.size(), kNoNode) {
    for (uint32_t node : nodes) (walk.accumulates(node) ? leaves_ : operations_).push_back(node);
    std::sort(leaves_.begin(), leaves_.end());
    leaves_.erase(std::unique(leaves_.begin(), leaves_.end()), leaves_.end());
  }

  GraphBoxes boxes() {
    make_calls();
    give_leaves_to_calls();
    if (how_ == Collapse::repeat) merge_calls();
    make_boxes();
    add_leaf_boxes();
    order_boxes();
    add_edges();
    result_.box_of = std::move(box_of_);
    result_.how = how_;
    result_.depth = depth_;
    return std::move(result_);
  }

 private:
  // A run of nodes in the order of the forward pass that belong to one call of a module.
  struct Call {
    std::vector<uint32_t> nodes, leaves;
    uint32_t tree = 0;   // of its module
    uint32_t place = 0;  // where there is no module
    uint32_t classes = 0;
    uint32_t box = 0;
  };

  uint32_t module_of(uint32_t node) const { return node < places_.module.size() ? places_.module[node] : 0; }
  uint32_t place_of(uint32_t node) const { return node < places_.place.size() ? places_.place[node] : 0; }

  void make_calls() {
    std::vector<uint32_t> part_of(graph_.nodes.size());
    uint32_t number = 0;
    for (const GraphPart& part : walk_.parts()) {
      for (uint32_t node : part.nodes) part_of[node] = number;
      ++number;
    }
    std::sort(operations_.begin(), operations_.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(part_of[a], graph_.nodes[a].sequence, a) < std::tuple(part_of[b], graph_.nodes[b].sequence, b);
    });
    operations_.erase(std::unique(operations_.begin(), operations_.end()), operations_.end());
    const std::vector<std::pair<uint32_t, uint32_t>> keys = call_keys(part_of);
    for (size_t i = 0; i < operations_.size(); ++i) {
      const uint32_t node = operations_[i];
      if (i == 0 || how_ == Collapse::none || keys[i] != keys[i - 1] || part_of[node] != part_of[operations_[i - 1]]) {
        Call& call = calls_.emplace_back();
        call.tree = how_ == Collapse::none ? 0 : keys[i].first;
        call.place = keys[i].second;
      }
      calls_.back().nodes.push_back(node);
      box_of_[node] = uint32_t(calls_.size() - 1);  // its call, until there are boxes
    }
  }

  // Module, or place where there is none, of each operation. One that nobody saw being made, between two of one call,
  // belongs to that call.
  std::vector<std::pair<uint32_t, uint32_t>> call_keys(const std::vector<uint32_t>& part_of) {
    std::map<uint32_t, uint32_t> tree_of;
    std::vector<std::pair<uint32_t, uint32_t>> keys;
    keys.reserve(operations_.size());
    for (uint32_t node : operations_) {
      const uint32_t module = module_of(node);
      auto [found, fresh] = tree_of.try_emplace(module, 0);
      if (fresh && module != 0) found->second = tree_.add(places_.texts[module], depth_);
      keys.emplace_back(found->second, found->second != 0 ? 0 : place_of(node));
    }
    constexpr std::pair<uint32_t, uint32_t> kNothing{0, 0};
    for (size_t i = 0, next; i < keys.size(); i = next) {
      for (next = i + 1; keys[i] == kNothing && next < keys.size() && keys[next] == kNothing;) ++next;
      const bool inside = keys[i] == kNothing && i > 0 && next < keys.size() && keys[i - 1] == keys[next] &&
                          part_of[operations_[i - 1]] == part_of[operations_[next]];
      if (inside) std::fill(keys.begin() + std::ptrdiff_t(i), keys.begin() + std::ptrdiff_t(next), keys[next]);
    }
    return keys;
  }

  // An accumulator that one call alone uses goes into it.
  void give_leaves_to_calls() {
    std::vector<uint32_t> alone;
    for (uint32_t leaf : leaves_) {
      uint32_t user = kNoNode;
      bool one = how_ != Collapse::none;
      for (uint32_t node : walk_.users_of(leaf)) {
        const uint32_t call = box_of_[node];
        if (call == kNoNode) continue;  // not in the picture
        one = one && (user == kNoNode || user == call);
        user = call;
      }
      if (one && user != kNoNode) {
        calls_[user].leaves.push_back(leaf);
      } else {
        alone.push_back(leaf);
      }
    }
    leaves_ = std::move(alone);
  }

  void merge_calls() {
    std::map<std::vector<uint32_t>, uint32_t> class_lists;
    for (Call& call : calls_) {
      std::vector<uint32_t> classes;
      for (uint32_t node : call.nodes) classes.push_back(graph_.nodes[node].class_name);
      std::sort(classes.begin(), classes.end());
      call.classes = class_lists.try_emplace(std::move(classes), uint32_t(class_lists.size())).first->second;
      tree_.mark(call.tree, call.classes);
    }
    tree_.merge();
  }

  void make_boxes() {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> merged;  // class of module, place, node classes
    for (Call& call : calls_) {
      const uint32_t fresh_box = uint32_t(result_.boxes.size());
      call.box = fresh_box;
      if (how_ == Collapse::repeat) {
        call.box = merged.try_emplace({tree_.class_of(call.tree), call.place, call.classes}, fresh_box).first->second;
      }
      if (call.box == fresh_box) {
        GraphBox& box = result_.boxes.emplace_back();
        box.calls = 0;
        if (how_ == Collapse::none) {
          box.path = places_.texts[module_of(call.nodes.front())];
        } else {
          box.path = tree_.path(call.tree);
          box.indices = tree_.indices(call.tree);
        }
        box.first = graph_.nodes[call.nodes.front()].sequence;
      }
      GraphBox& box = result_.boxes[call.box];
      ++box.calls;
      box.nodes.insert(box.nodes.end(), call.nodes.begin(), call.nodes.end());
      box.leaves.insert(box.leaves.end(), call.leaves.begin(), call.leaves.end());
    }
    for (uint32_t node : operations_) {
      call_of_.push_back(box_of_[node]);
      box_of_[node] = calls_[box_of_[node]].box;
    }
    for (uint32_t number = 0; number < result_.boxes.size(); ++number) {
      GraphBox& box = result_.boxes[number];
      const uint32_t place = place_of(box.nodes.front());
      if (std::all_of(box.nodes.begin(), box.nodes.end(), [&](uint32_t node) { return place_of(node) == place; })) {
        box.place = places_.texts[place];
      }
      for (uint32_t leaf : box.leaves) box_of_[leaf] = number;
    }
  }

  // Leaves of their own: one box each, or one for all that the same boxes use.
  void add_leaf_boxes() {
    std::map<std::vector<uint32_t>, uint32_t> by_users;
    for (uint32_t leaf : leaves_) {
      std::vector<uint32_t> users;
      uint64_t first = UINT64_MAX;
      for (uint32_t node : walk_.users_of(leaf)) {
        if (box_of_[node] == kNoNode) continue;
        users.push_back(box_of_[node]);
        first = std::min(first, graph_.nodes[node].sequence);
      }
      std::sort(users.begin(), users.end());
      users.erase(std::unique(users.begin(), users.end()), users.end());
      uint32_t number = uint32_t(result_.boxes.size());
      if (how_ == Collapse::repeat) number = by_users.try_emplace(std::move(users), number).first->second;
      if (number == result_.boxes.size()) {
        GraphBox& box = result_.boxes.emplace_back();
        box.is_leaf = true;
        box.first = first;
      }
      result_.boxes[number].nodes.push_back(leaf);
      leaf_boxes_.emplace_back(leaf, number);
    }
    for (const auto& [leaf, number] : leaf_boxes_) box_of_[leaf] = number;
  }

  void order_boxes() {
    std::vector<uint32_t> order(result_.boxes.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const GraphBox &x = result_.boxes[a], &y = result_.boxes[b];
      return std::tuple(x.first, !x.is_leaf, a) < std::tuple(y.first, !y.is_leaf, b);
    });
    std::vector<uint32_t> new_number(order.size());
    std::vector<GraphBox> sorted;
    for (uint32_t i = 0; i < order.size(); ++i) {
      new_number[order[i]] = i;
      sorted.push_back(std::move(result_.boxes[order[i]]));
    }
    result_.boxes = std::move(sorted);
    for (uint32_t& box : box_of_) {
      if (box != kNoNode) box = new_number[box];
    }
  }

  // Edges within one call are not shown; those from one call to the next of the same box are.
  void add_edges() {
    std::vector<uint32_t> call(graph_.nodes.size(), kNoNode);
    for (size_t i = 0; i < operations_.size(); ++i) call[operations_[i]] = call_of_[i];
    struct Sum {
      uint64_t count = 0, first = UINT64_MAX;
    };
    std::map<std::pair<uint32_t, uint32_t>, Sum> sums;
    for (uint32_t node : operations_) {
      for (const GraphEdge& edge : graph_.edges_of(node)) {
        if (edge.node == kNoNode || box_of_[edge.node] == kNoNode) continue;
        const uint32_t from = box_of_[edge.node], to = box_of_[node];
        if (from == to && (call[edge.node] == call[node] || call[edge.node] == kNoNode)) continue;
        Sum& sum = sums[{from, to}];
        ++sum.count;
        sum.first = std::min(sum.first, graph_.nodes[node].sequence);
      }
    }
    std::vector<std::tuple<uint64_t, uint32_t, uint32_t, uint64_t>> rows;  // in order, without ties left to chance
    for (const auto& [ends, sum] : sums) rows.emplace_back(sum.first, ends.second, ends.first, sum.count);
    std::sort(rows.begin(), rows.end());
    for (const auto& [first, to, from, count] : rows) {
      result_.edges.push_back({from, to, count, uint32_t(result_.edges.size() + 1)});
    }
  }

  const Graph& graph_;
  const GraphWalk& walk_;
  const NodePlaces& places_;
  const Collapse how_;
  const uint32_t depth_;
  ModuleTree tree_;
  std::vector<uint32_t> operations_, leaves_;  // leaves_: in the end those that got into no call
  std::vector<Call> calls_;
  std::vector<uint32_t> call_of_;  // by operation
  std::vector<uint32_t> box_of_;
  std::vector<std::pair<uint32_t, uint32_t>> leaf_boxes_;
  GraphBoxes result_;
};

}  // namespace

GraphBoxes collapse(const Graph& graph, const GraphWalk& walk, std::span<const uint32_t> nodes,
                    const NodePlaces& places, Collapse how, uint32_t depth) {
  return Collapser(graph, walk, nodes, places, how, depth).boxes();
}

GraphBoxes collapse_to(const Graph& graph, const GraphWalk& walk, std::span<const uint32_t> nodes,
                       const NodePlaces& places, size_t most) {
  if (nodes.size() <= most) return collapse(graph, walk, nodes, places, Collapse::none);
  GraphBoxes boxes = collapse(graph, walk, nodes, places, Collapse::module);
  if (boxes.boxes.size() <= most) return boxes;
  boxes = collapse(graph, walk, nodes, places, Collapse::repeat);
  uint32_t deepest = 0;
  for (const GraphBox& box : boxes.boxes) {
    deepest = std::max(deepest, uint32_t(1 + std::count(box.path.begin(), box.path.end(), '.')));
  }
  for (uint32_t depth = std::min(deepest, kDeepest); boxes.boxes.size() > most && depth-- > 1;) {
    boxes = collapse(graph, walk, nodes, places, Collapse::repeat, depth);
  }
  return boxes;
}

}  // namespace tensorscope::analyzer
