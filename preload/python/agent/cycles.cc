#include "python/agent/cycles.h"

#include <algorithm>

namespace tensorscope::python::agent {

namespace {

constexpr uint32_t kUnseen = UINT32_MAX;

class Components {
 public:
  Components(const ObjectGraph& graph, const std::vector<bool>& reachable) : graph_(graph), reachable_(reachable) {
    component_.assign(graph.size(), kUnseen);
    order_.assign(graph.size(), kUnseen);
    low_.assign(graph.size(), 0);
    for (uint32_t i = 0; i < graph.size(); ++i) {
      if (!reachable[i] && order_[i] == kUnseen) walk(i);
    }
  }

  std::vector<std::vector<uint32_t>> sources() const {
    std::vector<bool> referred(count_);
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (reachable_[i]) continue;
      for (const uint32_t child : graph_.references(i)) {
        if (!reachable_[child] && component_[child] != component_[i]) referred[component_[child]] = true;
      }
    }
    std::vector<std::vector<uint32_t>> members(count_);
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!reachable_[i] && !referred[component_[i]]) members[component_[i]].push_back(i);
    }
    std::erase_if(members, [](const auto& each) { return each.empty(); });
    return members;
  }

 private:
  struct Visit {
    uint32_t object;
    uint32_t next;  // reference
  };

  void enter(uint32_t object) {
    order_[object] = low_[object] = next_order_++;
    open_.push_back(object);
    visits_.push_back({object, 0});
  }

  void walk(uint32_t start) {
    enter(start);
    while (!visits_.empty()) {
      Visit& visit = visits_.back();
      const uint32_t object = visit.object;
      const auto references = graph_.references(object);
      if (visit.next < references.size()) {
        const uint32_t child = references[visit.next++];
        if (reachable_[child]) continue;
        if (order_[child] == kUnseen) {
          enter(child);
        } else if (component_[child] == kUnseen) {
          low_[object] = std::min(low_[object], order_[child]);
        }
        continue;
      }
      visits_.pop_back();
      if (!visits_.empty()) low_[visits_.back().object] = std::min(low_[visits_.back().object], low_[object]);
      if (low_[object] == order_[object]) finish(object);
    }
  }

  void finish(uint32_t first) {
    uint32_t object;
    do {
      object = open_.back();
      open_.pop_back();
      component_[object] = count_;
    } while (object != first);
    ++count_;
  }

  const ObjectGraph& graph_;
  const std::vector<bool>& reachable_;
  std::vector<uint32_t> component_, order_, low_, open_;
  std::vector<Visit> visits_;
  uint32_t count_ = 0, next_order_ = 0;
};

}  // namespace

std::vector<std::vector<uint32_t>> root_cycles(const ObjectGraph& graph, const std::vector<bool>& reachable) {
  return Components(graph, reachable).sources();
}

}  // namespace tensorscope::python::agent
