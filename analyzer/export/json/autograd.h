// SPDX-License-Identifier: Apache-2.0
// The parts of the JSON export (docs/json.md) about autograd: nodes whose making was seen, and the graph as it was
// found.
#pragma once

#include <ostream>

#include "dump/dump.h"
#include "symbols/symbols.h"

namespace tensorscope::exports {

// "nodes", with a comma before it.
void write_nodes_json(const analyzer::Dump& dump, std::ostream& out);
// "graph", with a comma before it.
void write_graph_json(const analyzer::Dump& dump, const analyzer::Symbols& symbols, std::ostream& out);

}  // namespace tensorscope::exports
