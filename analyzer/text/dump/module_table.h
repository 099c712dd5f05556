// SPDX-License-Identifier: Apache-2.0
// The model as a tree, with what each module's parameters, gradients, optimizer state and saved activations take.
#pragma once

#include <string>

#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// `full`: repeated modules each in a line of their own.
std::string module_table(analyzer::OpenedDump& opened, const analyzer::Selection& selection, bool full,
                         const text::Terminal& terminal);

}  // namespace tensorscope::text
