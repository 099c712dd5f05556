// The GRPH chunks of a dump.
//
// Context: collector.
#pragma once

#include "snapshot/dump_file.h"
#include "snapshot/graph/graph.h"

namespace tensorscope::snapshot {

bool write_graph(const Graph& graph, DumpFile& file);

}  // namespace tensorscope::snapshot
