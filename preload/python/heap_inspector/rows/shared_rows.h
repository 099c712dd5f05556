// SPDX-License-Identifier: Apache-2.0
// Rows of the objects on tensors' reference chains that are reached in several ways (graph/other_ways.h).
//
// Context: heap inspector.
#pragma once

#include <cstdint>

#include "python/heap_inspector/graph/other_ways.h"
#include "python/heap_inspector/naming/beginnings.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

class SharedRows {
 public:
  SharedRows(const ObjectGraph& graph, const ObjectPaths& paths, const Keepers& keepers, Chains& chains,
             Beginnings& beginnings, LookLimits& limits, References& out)
      : chains_(chains), beginnings_(beginnings), limits_(limits), out_(out), ways_(graph, paths, keepers, limits) {}

  // `holders`: of each row of references, kNoObject where no object has it. All rows or, where a limit is reached,
  // none.
  void write(const PageArray<uint32_t>& holders);

 private:
  bool write_all(const PageArray<uint32_t>& holders);
  bool write_row(const OtherWays::Shared& shared, const uint32_t* answers);

  Chains& chains_;
  Beginnings& beginnings_;
  LookLimits& limits_;
  References& out_;
  OtherWays ways_;
};

}  // namespace tensorscope::python::heap_inspector
