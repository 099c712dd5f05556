// SPDX-License-Identifier: Apache-2.0
// Synthetic dumps with autograd graphs, for the tests of `graph`: the same bytes every time.
#pragma once

#include "support/dump_builder.h"

namespace tensorscope::testing {

// A model of two linear layers and a normalisation. Two losses with their graphs in a list (ids 61 and 62 of losses[0]
// and losses[1]), one whose backward ran (done), a view of an output (view), a square (sq = w * w), what 64 doublings
// made of w (c), a node kept in a variable (fn), saved tensors that hooks packed, and two tensors that are both called
// x.
DumpBuilder graph_dump();

// A transformer of `layers` layers: 8 operations and 4 parameters each.
DumpBuilder deep_graph_dump(int layers);

// A C++ program's graph: native stacks, no names, no references.
DumpBuilder native_graph_dump();

}  // namespace tensorscope::testing
