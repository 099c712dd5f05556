// The model as a tree, with what each module's parameters, gradients, optimizer state and saved activations take.
#pragma once

#include <string>

#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::commands {

// `full`: repeated modules each in a line of their own.
std::string module_table(model::OpenedDump& opened, const model::Selection& selection, bool full,
                         const render::Terminal& terminal);

}  // namespace tensorscope::commands
