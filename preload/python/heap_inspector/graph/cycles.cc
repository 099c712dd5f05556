// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/cycles.h"

#include <algorithm>

namespace tensorscope::python::heap_inspector {

namespace {

constexpr uint32_t kUnseen = UINT32_MAX;

// Garbage has numbers of its own: there is little of it where there are many objects.
class Components {
 public:
  Components(const ObjectGraph& graph, LookLimits& limits) : graph_(graph), limits_(limits) {}

  // False: a limit was reached.
  bool find(const std::vector<bool>& reachable) {
    if (!number(reachable)) return false;
    for (uint32_t i = 0; i < garbage_.size(); ++i) {
      if (order_[i] == kUnseen && !walk(i)) return false;
    }
    return true;
  }

  std::vector<std::vector<uint32_t>> sources() {
    std::vector<bool> referred(count_);
    for (uint32_t i = 0; i < garbage_.size() && !limits_.reached(); ++i) {
      for (const uint32_t child : graph_.references(garbage_[i])) {
        const uint32_t other = number_of(child);
        if (other != kUnseen && component_[other] != component_[i]) referred[component_[other]] = true;
      }
    }
    std::vector<std::vector<uint32_t>> members(count_);
    for (uint32_t i = 0; i < garbage_.size() && !limits_.reached(); ++i) {
      if (!referred[component_[i]]) members[component_[i]].push_back(garbage_[i]);
    }
    std::erase_if(members, [](const auto& each) { return each.empty(); });
    return members;
  }

 private:
  struct Visit {
    uint32_t garbage;
    uint32_t next;  // reference
  };

  bool number(const std::vector<bool>& reachable) {
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!reachable[i] && (limits_.reached() || !garbage_.push(i))) return false;
    }
    if (garbage_.empty()) return true;
    if (!numbers_.resize(graph_.size()) || !component_.resize(garbage_.size()) || !order_.resize(garbage_.size()) ||
        !low_.resize(garbage_.size())) {
      return false;
    }
    for (uint32_t i = 0; i < garbage_.size(); ++i) {
      numbers_[garbage_[i]] = i + 1;
      component_[i] = order_[i] = kUnseen;
    }
    return true;
  }

  uint32_t number_of(uint32_t object) const { return numbers_[object] - 1; }

  bool enter(uint32_t garbage) {
    order_[garbage] = low_[garbage] = next_order_++;
    return open_.push(garbage) && visits_.push({garbage, 0});
  }

  bool walk(uint32_t start) {
    if (!enter(start)) return false;
    while (!visits_.empty()) {
      if (limits_.reached()) return false;
      Visit& visit = visits_.back();
      const uint32_t at = visit.garbage;
      const auto references = graph_.references(garbage_[at]);
      if (visit.next < references.size()) {
        const uint32_t child = number_of(references[visit.next++]);
        if (child == kUnseen) continue;
        if (order_[child] == kUnseen) {
          if (!enter(child)) return false;
        } else if (component_[child] == kUnseen) {
          low_[at] = std::min(low_[at], order_[child]);
        }
        continue;
      }
      visits_.pop();
      if (!visits_.empty()) {
        const uint32_t from = visits_.back().garbage;
        low_[from] = std::min(low_[from], low_[at]);
      }
      if (low_[at] == order_[at]) finish(at);
    }
    return true;
  }

  void finish(uint32_t first) {
    uint32_t garbage;
    do {
      garbage = open_.back();
      open_.pop();
      component_[garbage] = count_;
    } while (garbage != first);
    ++count_;
  }

  const ObjectGraph& graph_;
  LookLimits& limits_;
  PageArray<uint32_t> garbage_;  // the objects
  PageArray<uint32_t> numbers_;  // of each object: its number among the garbage plus 1
  PageArray<uint32_t> component_, order_, low_, open_;
  PageArray<Visit> visits_;
  uint32_t count_ = 0, next_order_ = 0;
};

}  // namespace

std::vector<std::vector<uint32_t>> root_cycles(const ObjectGraph& graph, const std::vector<bool>& reachable,
                                               LookLimits& limits) {
  Components components(graph, limits);
  if (components.find(reachable)) return components.sources();
  limits.memory_ran_out();
  return {};
}

}  // namespace tensorscope::python::heap_inspector
