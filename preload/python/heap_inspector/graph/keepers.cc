// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/keepers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tensorscope::python::heap_inspector {

namespace {

constexpr int kMostRounds = 12;  // three are usual

uint32_t sum_of(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

}  // namespace

bool Keepers::run() {
  if (!begin()) return false;
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    if (!move_up(changed)) return false;
  }
  exact_ = !changed;
  if (!exact_) keep_single_references();
  return add_up();
}

// What has one reference is kept by whatever has that, for good. The chains of unreachable cycles come last, so that
// what they reach is behind them.
bool Keepers::begin() {
  const size_t size = graph_.size();
  bool room = keeper_.resize(size) && units_.resize(size);
  for (uint32_t i = 0; room && i < size; ++i) {
    keeper_[i] = paths_.reached(i) && !paths_.is_root(i) ? paths_.nearest_parent(i) : kNoObject;
  }
  std::vector<bool> in_use(room ? size : 0, false);
  bool garbage = false;
  for (const uint32_t from : paths_.order()) {
    if (!room || limits_.reached()) break;
    garbage = garbage || (paths_.is_root(from) && paths_.root_kind_of(from) == format::ReferenceRoot::cycle);
    in_use[from] = !garbage;
    for (const uint32_t to : graph_.references(from)) {
      if (graph_.inside_references(to) < 2 || !paths_.reached(to) || paths_.is_root(to)) continue;
      if (garbage && in_use[to]) continue;
      room = room && edges_.push({from, to});
    }
  }
  if (limits_.reached()) return false;
  if (!room) limits_.memory_ran_out();
  return room;
}

// A keeper is always nearer to the root than what it keeps, by the depth of its shortest chain.
uint32_t Keepers::meeting(uint32_t a, uint32_t b) {
  while (a != b && a != kNoObject && b != kNoObject && !limits_.reached()) {
    const uint32_t depth_a = paths_.depth(a), depth_b = paths_.depth(b);
    if (depth_a >= depth_b) a = keeper_[a];
    if (depth_b >= depth_a) b = keeper_[b];
  }
  return a == b ? a : kNoObject;
}

bool Keepers::move_up(bool& changed) {
  changed = false;
  for (const Edge& edge : edges_) {
    const uint32_t before = keeper_[edge.to];
    if (before == edge.from || before == kNoObject) continue;
    const uint32_t now = meeting(before, edge.from);
    if (limits_.reached()) return false;
    changed = changed || now != before;
    keeper_[edge.to] = now;
  }
  return true;
}

void Keepers::keep_single_references() {
  for (const Edge& edge : edges_) keeper_[edge.to] = kNoObject;
}

bool Keepers::add_up() {
  if (!graph_.cpp_objects().empty()) {
    if (!cpp_objects_.resize(graph_.size())) return limits_.memory_ran_out(), false;
    for (const ObjectGraph::CppObjects& each : graph_.cpp_objects()) cpp_objects_[each.object] += each.count;
  }
  const PageArray<uint32_t>& order = paths_.order();
  for (size_t i = order.size(); i-- > 0;) {
    const uint32_t object = order[i], to = owner(object);
    if (to == kNoObject) continue;
    units_[to] = sum_of(units_[to], units_[object]);
    if (!cpp_objects_.empty()) cpp_objects_[to] += cpp_objects_[object];
  }
  return !limits_.reached();
}

}  // namespace tensorscope::python::heap_inspector
