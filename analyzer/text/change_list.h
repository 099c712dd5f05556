// The rows of `diff --list`: each tensor that is new, gone, larger, smaller, elsewhere or newly graded.
#pragma once

#include <string>

#include "commands/compared_dumps.h"

namespace tensorscope::commands {

// At most `top` rows (0: all), the most bytes of each kind first; of dumps of one run.
std::string change_list(ComparedDumps& dumps, const model::Difference& difference, size_t top,
                        const render::Terminal& terminal);

}  // namespace tensorscope::commands
