// SPDX-License-Identifier: Apache-2.0
// Rows of changes between dumps.
#pragma once

#include <string>
#include <vector>

#include "memory/compared_dumps.h"
#include "memory/difference.h"
#include "text/terminal.h"

namespace tensorscope::text {

// Growth in bytes and count, growth of each interval, where. At most `top` (0: all).
std::string change_table(analyzer::ComparedDumps& dumps, const std::vector<analyzer::Change>& changes,
                         analyzer::GroupBy by, size_t top, bool full_stacks, const text::Terminal& terminal);

}  // namespace tensorscope::text
