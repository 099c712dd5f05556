// SPDX-License-Identifier: Apache-2.0
// What goes away with each object: what can be reached from its root through it only (dominators, in books). The keeper
// of an object is the nearest other object of which that is so.
//
// Begins with each object's parent on its shortest chain and moves up to where the chains of all that refer to it meet,
// until nothing changes. Where that does not end in time, only what has one reference has a keeper.
//
// References that no object of the graph has (running functions, C code) do not count: what a variable works with just
// now is still in its container. Nor do those of unreachable cycles to anything else: they wait for the garbage
// collector. About 16 bytes an object.
//
// Context: heap inspector.
#pragma once

#include <cstdint>

#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "support/page_array.h"

namespace tensorscope::python::heap_inspector {

class Keepers {
 public:
  // Takes from the graph what objects take.
  Keepers(ObjectGraph& graph, const ObjectPaths& paths, LookLimits& limits)
      : graph_(graph), units_(graph.take_units()), paths_(paths), limits_(limits) {}

  // False: a limit was reached, and nothing is known.
  bool run();

  // Whether it ended in time: each object that a chain leads to has its true keeper.
  bool exact() const { return exact_; }
  // References to what has several, both ends reached.
  struct Edge {
    uint32_t from, to;
  };
  const PageArray<Edge>& edges() const { return edges_; }
  // kNoObject: a root, or no object alone keeps it, or no chain leads to it.
  uint32_t keeper(uint32_t object) const { return keeper_[object]; }
  // Its keeper; where no object alone keeps it, the one by which it is named. kNoObject: a root, or no chain leads to
  // it.
  uint32_t owner(uint32_t object) const {
    if (keeper_[object] != kNoObject || !paths_.reached(object) || paths_.is_root(object)) return keeper_[object];
    return paths_.nearest_parent(object);
  }
  // What it owns, itself included.
  uint64_t bytes(uint32_t object) const { return uint64_t{16} * units_[object]; }
  // Of C++, itself included.
  uint32_t cpp_objects(uint32_t object) const { return cpp_objects_.empty() ? 0 : cpp_objects_[object]; }

 private:
  bool begin();
  bool move_up(bool& changed);
  uint32_t meeting(uint32_t a, uint32_t b);
  void keep_single_references();
  bool add_up();

  const ObjectGraph& graph_;
  PageArray<uint32_t> units_;
  const ObjectPaths& paths_;
  LookLimits& limits_;
  bool exact_ = false;
  PageArray<Edge> edges_;
  PageArray<uint32_t> keeper_;
  PageArray<uint32_t> cpp_objects_;  // empty: there are none
};

}  // namespace tensorscope::python::heap_inspector
