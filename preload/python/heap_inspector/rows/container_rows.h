// SPDX-License-Identifier: Apache-2.0
// Which containers of plain Python objects get a row: those with the most bytes, and those with the most objects of
// C++. A container is where many meet: of a chain of objects that all keep the same, it is the innermost, none of whose
// entries has more than half of it.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <vector>

#include "python/heap_inspector/graph/keepers.h"
#include "python/heap_inspector/naming/beginnings.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

class ContainerRows {
 public:
  ContainerRows(const Gil& gil, Kinds& kinds, const ObjectGraph& graph, const ObjectPaths& paths, Chains& chains,
                const Keepers& keepers, Beginnings& beginnings, LookLimits& limits, References& out)
      : gil_(gil),
        kinds_(kinds),
        graph_(graph),
        paths_(paths),
        chains_(chains),
        beginnings_(beginnings),
        limits_(limits),
        out_(out),
        keepers_(keepers) {}

  // False: a limit was reached, and no row was written.
  bool write();

 private:
  // By what containers are compared: bytes, or objects of C++.
  using Amount = uint64_t (ContainerRows::*)(uint32_t) const;
  uint64_t bytes_of(uint32_t object) const { return keepers_.bytes(object); }
  uint64_t cpp_objects_of(uint32_t object) const { return keepers_.cpp_objects(object); }

  void choose(Amount amount, uint64_t least, size_t most, std::vector<uint32_t>& chosen);
  std::vector<uint32_t> kept_by(uint32_t object, Amount amount, uint64_t least) const;
  bool is_container(uint32_t object) const;
  bool is_namespace(uint32_t object) const;
  uint32_t instance_of(uint32_t object) const;
  uint64_t entries_of(uint32_t object) const;
  const Object* type_of_entries(uint32_t object) const;
  const Object* type_of_cpp_objects(uint32_t object) const;
  void write_row(uint32_t object);

  const Gil& gil_;
  Kinds& kinds_;
  const ObjectGraph& graph_;
  const ObjectPaths& paths_;
  Chains& chains_;
  Beginnings& beginnings_;
  LookLimits& limits_;
  References& out_;
  const Keepers& keepers_;
};

}  // namespace tensorscope::python::heap_inspector
