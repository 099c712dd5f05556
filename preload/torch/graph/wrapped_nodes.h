// SPDX-License-Identifier: Apache-2.0
// The nodes that CopySlices wrap: an operation in place on a view has one, whose gradient CopySlices passes through it.
// No edge leads there, and what it saved is kept all the same.
//
// Context: collector.
#pragma once

#include "torch/graph/graph_walk.h"
#include "torch/graph/node_extent.h"

namespace tensorscope::torch {

// Adds the wrapped nodes to the walk and walks on from there; sets WalkedNode::inner. `layout` knows the size of a
// Node. False: the system does not allow reading.
bool add_wrapped_nodes(const NodeLayout& layout, NodeExtents& extents, ObjectClasses& classes, GraphWalk& walk);

}  // namespace tensorscope::torch
