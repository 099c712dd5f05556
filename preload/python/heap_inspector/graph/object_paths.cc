// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/object_paths.h"

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

bool ObjectPaths::spread() {
  for (; followed_ < queue_.size() && !limits_.reached(); ++followed_) {
    const uint32_t object = queue_[followed_];
    for (const uint32_t child : graph_.references(object)) {
      if (parent_[child] != kNone || limits_.reached()) continue;
      if (graph_.kind(child) == Kind::type && !leads_to_class(object)) continue;
      if (!queue_.push(child)) {
        limits_.memory_ran_out();
        break;
      }
      parent_[child] = object + kFirst;
      depth_[child] = depth_[object] + 1;
    }
  }
  followed_ = queue_.size();
  return limits_.part_stop() == LookLimits::Stop::none;
}

}  // namespace tensorscope::python::heap_inspector
