// SPDX-License-Identifier: Apache-2.0
// What refers to autograd nodes: rows of the dump, as far as the autograd graph was read.
//
// Context: heap inspector.
#pragma once

#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/naming/beginnings.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/references.h"
#include "torch/graph/graph_seeds.h"

namespace tensorscope::python::heap_inspector {

// The nearest holders of each node. Where a limit is reached, rows are missing.
void write_node_rows(const ObjectGraph& graph, const torch::GraphSeeds& seeds, const ObjectPaths& paths, Chains& chains,
                     LookLimits& limits, Beginnings& beginnings, References& out);

}  // namespace tensorscope::python::heap_inspector
