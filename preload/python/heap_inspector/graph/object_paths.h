// SPDX-License-Identifier: Apache-2.0
// The shortest reference chain to each object from something that has a name: roots are given in the order in which a
// person would name them, and what an earlier one leads to is its own. A breadth-first search with one number an
// object.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "dump_generated.h"
#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/text_pool.h"
#include "support/page_array.h"

namespace tensorscope::python::heap_inspector {

struct Root {
  uint32_t object = kNoObject;
  format::ReferenceRoot kind = format::ReferenceRoot::extension;
  std::string name;  // "" for the dictionary of a module's globals, whose keys are the names
  std::string scope;
  uint32_t node = UINT32_MAX;  // number in the graph
  bool main = false;           // the main script's globals
  uint32_t call = 0;           // of a variable of a running function: the frame's number plus 1
};

class ObjectPaths {
 public:
  ObjectPaths(const ObjectGraph& graph, LookLimits& limits);

  // False: there was no memory for paths, and none will be found.
  bool ready() const { return ready_; }

  // No reference chain contains this object unless it is added as a root later.
  void close(uint32_t object) {
    if (parent_[object] == kNone) parent_[object] = kClosed;
  }
  // An object that already has a path keeps it.
  void add(const Root& root);
  // Follows what was added. False: a limit was reached.
  bool spread();
  // Leads from the objects that were reached to their classes, where nothing else has these.
  bool spread_to_classes();

  bool reached(uint32_t object) const { return parent_[object] > kClosed; }
  bool unreached(uint32_t object) const { return parent_[object] == kNone; }
  // Whether no other object comes before it.
  bool is_root(uint32_t object) const { return (parent_[object] & kRootBit) != 0; }
  std::optional<Root> root(uint32_t object) const;
  uint32_t parent(uint32_t object) const {
    const auto found = other_parents_.find(object);
    return found == other_parents_.end() ? parent_[object] - kFirst : found->second;
  }
  // Before it on its shortest chain, of which it is not the root.
  uint32_t nearest_parent(uint32_t object) const { return parent_[object] - kFirst; }
  // Of a reached object: the root of its shortest chain.
  uint32_t root_object_of(uint32_t object) const {
    while (!is_root(object)) object = parent_[object] - kFirst;
    return object;
  }
  std::optional<Root> root_of(uint32_t object) const { return root(root_object_of(object)); }
  format::ReferenceRoot root_kind_of(uint32_t object) const {
    return roots_[parent_[root_object_of(object)] & ~kRootBit].kind;
  }
  uint32_t depth(uint32_t object) const { return depth_[object]; }
  // All that were reached, each after its nearest parent.
  const PageArray<uint32_t>& order() const { return queue_; }

  // A chain that is better than the shortest: a module is named by the module that registers it.
  void prefer_parent(uint32_t object, uint32_t parent) { other_parents_[object] = parent; }
  bool has_other_parent(uint32_t object) const { return other_parents_.contains(object); }
  void drop_other_parent(uint32_t object) { other_parents_.erase(object); }

 private:
  static constexpr uint32_t kRootBit = 1u << 31;
  static constexpr uint32_t kNone = 0, kClosed = 1, kFirst = 2;

  struct KeptRoot {
    uint32_t name, scope, node;
    format::ReferenceRoot kind;
    bool main;
    uint32_t call;
  };

  bool leads_to_class(uint32_t from) const;
  void lead(uint32_t from, uint32_t to);

  const ObjectGraph& graph_;
  LookLimits& limits_;
  PageArray<KeptRoot> roots_;
  TextPool texts_;
  PageArray<uint32_t> parent_;  // kNone, kClosed, kFirst + number of an object, or kRootBit and number of a root
  PageArray<uint32_t> depth_;
  PageArray<uint32_t> queue_;
  size_t followed_ = 0;  // of the queue
  bool ready_;
  std::unordered_map<uint32_t, uint32_t> other_parents_;
};

}  // namespace tensorscope::python::heap_inspector
