// SPDX-License-Identifier: Apache-2.0
// Garbage: objects that only each other refer to. Each cycle that no other garbage refers to is a root.
//
// Context: heap inspector. Iterative (Tarjan's algorithm with a stack of its own), linear.
#pragma once

#include <cstdint>
#include <vector>

#include "python/heap_inspector/graph/object_graph.h"

namespace tensorscope::python::heap_inspector {

// The members of each such cycle, smallest number first; also single objects, where references were not told as they
// are. As many as the limits allow.
std::vector<std::vector<uint32_t>> root_cycles(const ObjectGraph& graph, const std::vector<bool>& reachable,
                                               LookLimits& limits);

}  // namespace tensorscope::python::heap_inspector
