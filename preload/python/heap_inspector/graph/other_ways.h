// SPDX-License-Identifier: Apache-2.0
// Objects that are reached in several ways, of which a chain shows one: a record that a list and an index have goes
// away only once both are without it. Such an object's keeper is not the one before it on its chain, but where the ways
// part.
//
// A way is a reference from elsewhere; one from something that the object itself keeps (a child that knows its parent)
// is none. Of many references those nearest to a root are looked at, and first those that part earliest.
//
// Context: heap inspector. Iterative; linear in the references to what has several. About 4 bytes an object.
#pragma once

#include <cstdint>
#include <span>

#include "python/heap_inspector/graph/keepers.h"
#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "support/page_array.h"

namespace tensorscope::python::heap_inspector {

class OtherWays {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMaxShared = 1 << 16;
  static constexpr size_t kMaxListed = 6;   // of the ways to one object
  static constexpr size_t kMaxLooked = 32;  // likewise

  struct Shared {
    uint32_t object;
    uint32_t above;          // number of the next one towards the root, beyond where these ways have met; kNone: none
    uint32_t first, listed;  // of the parents
  };

  OtherWays(const ObjectGraph& graph, const ObjectPaths& paths, const Keepers& keepers, LookLimits& limits)
      : graph_(graph), paths_(paths), keepers_(keepers), limits_(limits) {}

  // Number of the nearest shared object on an object's chain, itself included. Ask for all before find().
  uint32_t nearest(uint32_t object);
  // Finds the other ways to each. False: a limit was reached.
  bool find();

  const PageArray<Shared>& all() const { return shared_; }
  // What refers to it in other ways than its chain.
  std::span<const uint32_t> parents(const Shared& shared) const {
    return {parents_.data() + shared.first, shared.listed};
  }

 private:
  struct Parent {
    uint32_t shared, object;
  };
  bool is_shared(uint32_t object) const {
    return !paths_.is_root(object) && keepers_.keeper(object) != paths_.parent(object);
  }
  uint32_t add(uint32_t object);
  uint32_t number_of(uint32_t object) const;
  uint32_t way_of(uint32_t parent, uint32_t object) const;
  bool is_on_chain(uint32_t object, uint32_t of) const;
  bool find_parents(PageArray<Parent>& found) const;
  bool list(std::span<const Parent> parents);

  const ObjectGraph& graph_;
  const ObjectPaths& paths_;
  const Keepers& keepers_;
  LookLimits& limits_;
  PageArray<Shared> shared_;
  PageArray<uint32_t> parents_;
  PageArray<uint32_t> known_;  // of each object: 0, kVisiting, kAlone, or kFirstShared + number of the nearest
  PageArray<uint32_t> chain_;  // scratch
};

}  // namespace tensorscope::python::heap_inspector
