// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/object_paths.h"

#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

ObjectPaths::ObjectPaths(const ObjectGraph& graph, LookLimits& limits) : graph_(graph), limits_(limits) {
  ready_ = parent_.resize(graph.size()) && depth_.resize(graph.size());
  if (!ready_) limits_.memory_ran_out();
}

void ObjectPaths::add(const Root& root) {
  const uint32_t object = root.object;
  if (object == kNoObject || reached(object)) return;
  const KeptRoot kept = {
      texts_.intern(root.name), texts_.intern(root.scope), root.node, root.kind, root.main, root.call};
  if (texts_.full() || !roots_.push(kept)) return limits_.memory_ran_out();
  if (!queue_.push(object)) return limits_.memory_ran_out();
  parent_[object] = kRootBit | uint32_t(roots_.size() - 1);
}

std::optional<Root> ObjectPaths::root(uint32_t object) const {
  if (!is_root(object)) return std::nullopt;
  const KeptRoot& kept = roots_[parent_[object] & ~kRootBit];
  return Root{object,    kept.kind, std::string(texts_[kept.name]), std::string(texts_[kept.scope]), kept.node,
              kept.main, kept.call};
}

// An object refers to its class, a class to its bases and the functions in it to the class: none of these is where a
// person would say that the class is.
bool ObjectPaths::leads_to_class(uint32_t from) const {
  switch (graph_.kind(from)) {
    case Kind::dict:
    case Kind::list:
    case Kind::set:
    case Kind::deque:
      return true;
    case Kind::tuple:
      return is_root(from) || graph_.kind(nearest_parent(from)) != Kind::type;
    default:
      return false;
  }
}

void ObjectPaths::lead(uint32_t from, uint32_t to) {
  if (!queue_.push(to)) return limits_.memory_ran_out();
  parent_[to] = from + kFirst;
  depth_[to] = depth_[from] + 1;
}

bool ObjectPaths::spread() {
  for (; followed_ < queue_.size() && !limits_.reached(); ++followed_) {
    const uint32_t object = queue_[followed_];
    for (const uint32_t child : graph_.references(object)) {
      if (parent_[child] != kNone || limits_.reached()) continue;
      if (graph_.kind(child) != Kind::type || leads_to_class(object)) lead(object, child);
    }
  }
  followed_ = queue_.size();
  return limits_.part_stop() == LookLimits::Stop::none;
}

bool ObjectPaths::spread_to_classes() {
  for (size_t i = 0, end = queue_.size(); i < end && !limits_.reached(); ++i) {
    const uint32_t object = queue_[i];
    for (const uint32_t child : graph_.references(object)) {
      const bool is_class = graph_.kind(child) == Kind::type && graph_.object(child) == type_of(graph_.object(object));
      if (is_class && parent_[child] == kNone) lead(object, child);
    }
  }
  return spread();
}

}  // namespace tensorscope::python::heap_inspector
