// SPDX-License-Identifier: Apache-2.0
// Dumps of a process and of its children for verbs that say what leaks: those that were given, and those that children
// wrote with them and that lie beside them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/invocation.h"
#include "leaks/child_processes.h"
#include "memory/compared_dumps.h"

namespace tensorscope::cli {

using ReadDump = std::function<analyzer::Dump(const std::string& path)>;

// The dumps of children that were written with these and lie beside them, by process; says which. One dump of a child
// shows no growth, and is left out.
std::vector<std::vector<analyzer::Dump>> children_beside(const std::vector<analyzer::Dump>& dumps, const ReadDump& read,
                                                         Invocation& invocation);

// Adds what the children's dumps show. `parent`: what `found` is of.
void add_children(analyzer::Leaks& found, const std::vector<analyzer::View>& parent,
                  std::vector<std::vector<analyzer::Dump>> children, const analyzer::Filter& filter,
                  const analyzer::SymbolOptions& symbols, Invocation& invocation);

}  // namespace tensorscope::cli
