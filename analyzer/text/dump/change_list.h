// SPDX-License-Identifier: Apache-2.0
// The rows of `diff --list`: each tensor that is new, gone, larger, smaller, elsewhere or newly graded.
#pragma once

#include <string>

#include "memory/compared_dumps.h"
#include "memory/difference.h"
#include "text/terminal.h"

namespace tensorscope::text {

// At most `top` rows (0: all), the most bytes of each kind first; of dumps of one run.
std::string change_list(analyzer::ComparedDumps& dumps, const analyzer::Difference& difference, size_t top,
                        const text::Terminal& terminal);

}  // namespace tensorscope::text
