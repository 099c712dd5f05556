// SPDX-License-Identifier: Apache-2.0
// The GRPH chunks of a dump.
//
// Context: collector.
#pragma once

#include "dump/dump_file.h"
#include "torch/graph/graph.h"

namespace tensorscope::dump {

bool write_graph(const torch::Graph& graph, DumpFile& file);

}  // namespace tensorscope::dump
