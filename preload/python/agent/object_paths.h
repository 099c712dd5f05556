// The shortest way to each object from something that has a name: roots are given in the order in which a person would
// name them, and what an earlier one leads to is its own. A breadth-first search with one number an object.
//
// Context: agent.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "dump_generated.h"
#include "python/agent/object_graph.h"
#include "python/gil_thread.h"

namespace tensorscope::python::agent {

struct Root {
  uint32_t object = kNoObject;
  dump::ReferenceRoot kind = dump::ReferenceRoot::extension;
  std::string name;  // "" for the dictionary of a module's globals, whose keys are the names
  std::string scope;
  uint32_t node = UINT32_MAX;  // number in the graph
  bool main = false;           // the main script's globals
};

class ObjectPaths {
 public:
  ObjectPaths(const ObjectGraph& graph, Deadline deadline) : graph_(graph), deadline_(deadline) {
    parent_.assign(graph.size(), kNone);
    depth_.assign(graph.size(), 0);
  }

  // No way leads through this object unless it is given as a root later.
  void close(uint32_t object) {
    if (parent_[object] == kNone) parent_[object] = kClosed;
  }
  // An object that already has a path keeps it.
  void add(Root root);
  // Follows what was added. False: the time was up.
  bool spread();

  bool reached(uint32_t object) const { return parent_[object] < kClosed; }
  bool unreached(uint32_t object) const { return parent_[object] == kNone; }
  // Null: another object comes before it.
  const Root* root(uint32_t object) const {
    return (parent_[object] & kRootBit) && reached(object) ? &roots_[parent_[object] & ~kRootBit] : nullptr;
  }
  uint32_t parent(uint32_t object) const {
    const auto found = other_parents_.find(object);
    return found == other_parents_.end() ? parent_[object] : found->second;
  }
  // Of an object that was reached: where its shortest way begins.
  const Root* root_of(uint32_t object) const {
    while ((parent_[object] & kRootBit) == 0) object = parent_[object];
    return root(object);
  }
  uint32_t depth(uint32_t object) const { return depth_[object]; }

  // A way that is better than the shortest: a module is named by the module that registers it.
  void prefer_parent(uint32_t object, uint32_t parent) { other_parents_[object] = parent; }
  bool has_other_parent(uint32_t object) const { return other_parents_.contains(object); }
  void drop_other_parent(uint32_t object) { other_parents_.erase(object); }

 private:
  static constexpr uint32_t kRootBit = 1u << 31;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kClosed = UINT32_MAX - 1;

  const ObjectGraph& graph_;
  Deadline deadline_;
  std::vector<Root> roots_;
  std::vector<uint32_t> parent_;  // number of an object, or kRootBit and number of a root
  std::vector<uint32_t> depth_;
  std::vector<uint32_t> queue_;
  std::unordered_map<uint32_t, uint32_t> other_parents_;
};

}  // namespace tensorscope::python::agent
