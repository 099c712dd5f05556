// The process groups of torch.distributed: who is in them, and the dimension of a DeviceMesh that each belongs to. Read
// from the dicts and attributes in which torch keeps them; nothing of torch or the program runs.
//
// Context: agent.
#pragma once

#include "python/agent/graph/attributes.h"
#include "python/agent/graph/look_limits.h"
#include "python/agent/graph/object_graph.h"
#include "python/bridge.h"

namespace tensorscope::python::agent {

void read_process_groups(const Gil& gil, ProcessGroups& out);

// Names the dimensions. `graph`: where DeviceMesh objects are looked for.
void read_mesh_dimensions(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, LookLimits& limits,
                          ProcessGroups& out);

}  // namespace tensorscope::python::agent
