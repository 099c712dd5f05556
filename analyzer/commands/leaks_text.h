// What `leaks` prints: the summary, each finding with its evidence, and the places that grew.
#pragma once

#include <string>

#include "commands/compared_dumps.h"
#include "model/leaks.h"

namespace tensorscope::commands {

// At most `top` places (0: all).
std::string leaks_text(ComparedDumps& dumps, const model::Leaks& leaks, size_t top, const render::Terminal& terminal);

}  // namespace tensorscope::commands
