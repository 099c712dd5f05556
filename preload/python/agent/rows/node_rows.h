// What refers to autograd nodes: rows of the dump, as far as the autograd graph was read.
//
// Context: agent.
#pragma once

#include "python/agent/graph/look_limits.h"
#include "python/agent/graph/object_graph.h"
#include "python/agent/graph/object_paths.h"
#include "python/agent/naming/beginnings.h"
#include "python/agent/naming/chains.h"
#include "python/references.h"
#include "torch/graph/graph_seeds.h"

namespace tensorscope::python::agent {

// The nearest holders of each node. Where a limit is reached, rows are missing.
void write_node_rows(const ObjectGraph& graph, const torch::GraphSeeds& seeds, const ObjectPaths& paths, Chains& chains,
                     LookLimits& limits, Beginnings& beginnings, References& out);

}  // namespace tensorscope::python::agent
