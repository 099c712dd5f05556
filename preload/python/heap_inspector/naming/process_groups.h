// SPDX-License-Identifier: Apache-2.0
// The process groups of torch.distributed: who is in them, and the dimension of a DeviceMesh that each belongs to. Read
// from the dicts and attributes in which torch keeps them; nothing of torch or the program runs.
//
// Context: heap inspector.
#pragma once

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/program_facts.h"

namespace tensorscope::python::heap_inspector {

void read_process_groups(const Gil& gil, ProcessGroups& out);

// Names the dimensions. `graph`: where DeviceMesh objects are looked for.
void read_mesh_dimensions(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, LookLimits& limits,
                          ProcessGroups& out);

}  // namespace tensorscope::python::heap_inspector
