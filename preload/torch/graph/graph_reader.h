// SPDX-License-Identifier: Apache-2.0
// Reads the autograd graph from the memory of its nodes: which node leads to which, what each keeps saved, which Python
// objects belong to it. No torch function is called and no reference is taken; nodes that die meanwhile are left out.
//
//   walk        from the grad_fn of live tensors and the nodes of the table along next_edges_, by an explicit queue
//   learn       sizes and places of saved tensors, a few nodes of each class (node_layout.h, saved_slots.h)
//   read slots  of all nodes
//   verify      entries that changed meanwhile are discarded
//
// Time is linear in nodes, edges and slots; two or three system calls serve a thousand nodes.
//
// Context: collector, after the tables were copied and no lock is held.
#pragma once

#include <cstdint>
#include <vector>

#include "live/snapshot_view.h"
#include "torch/graph/graph.h"
#include "torch/metadata/object_class.h"

namespace tensorscope::torch {

struct GraphSources {
  const live::SnapshotView& view;
  const std::vector<uint64_t>& grad_fns;  // nodes of live tensors, any number of times
  ObjectClasses& classes;
  const void* undefined_tensor;
  bool deaths_are_told;  // by this torch
};

Graph read_graph(const GraphSources& sources);

}  // namespace tensorscope::torch
