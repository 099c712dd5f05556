// SPDX-License-Identifier: Apache-2.0
// Where reference chains begin, as numbers of rows in the REFS chunk: running calls, and objects by their id().
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/heap_inspector/naming/running_calls.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

class Beginnings {
 public:
  // `calls`: of the running frames, in their order.
  Beginnings(const ObjectGraph& graph, const std::vector<RunningCall>& calls, References& out)
      : graph_(graph), calls_(calls), out_(out) {}

  // The place plus 1 in References::calls and in References::beginnings; 0: none. `call`: as Root::call.
  uint32_t row_of_call(format::ReferenceRoot root, uint32_t call);
  uint32_t row_of_object(uint32_t object);

 private:
  const ObjectGraph& graph_;
  const std::vector<RunningCall>& calls_;
  References& out_;
  std::unordered_map<uint32_t, uint32_t> call_rows_;    // by frame's number plus 1
  std::unordered_map<uint32_t, uint32_t> object_rows_;  // by object's number in the graph
};

}  // namespace tensorscope::python::heap_inspector
