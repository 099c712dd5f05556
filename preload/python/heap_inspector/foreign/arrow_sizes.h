// SPDX-License-Identifier: Apache-2.0
// The memory that objects of pyarrow have, as part of what these objects take: each piece once, and none that is a
// tensor's or an array's of numpy.
//
// Context: heap inspector.
#pragma once

#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

// `tensors` may be null. False: a limit was reached, or there are too many such objects to ask each.
bool add_arrow_memory(const Gil& gil, const TensorSizes* tensors, ObjectGraph& graph, LookLimits& limits);

}  // namespace tensorscope::python::heap_inspector
