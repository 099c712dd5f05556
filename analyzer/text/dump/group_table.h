// SPDX-License-Identifier: Apache-2.0
// Groups as rows: bytes, share, count, age, place and source line. Shared by report and check.
#pragma once

#include <string>
#include <vector>

#include "memory/opened_dump.h"
#include "text/table.h"
#include "text/terminal.h"

namespace tensorscope::text {

// `total`: what 100 % is.
std::string group_table(analyzer::OpenedDump& opened, const std::vector<analyzer::Group>& groups, analyzer::GroupBy by,
                        uint64_t total, bool full_stacks, const text::Terminal& terminal);

// Below a row of a place, from `column` on: its module and callers, or its whole stack.
void add_notes(text::Table& table, size_t column, analyzer::OpenedDump& opened, const analyzer::Group& group,
               analyzer::GroupBy by, bool full_stacks);

}  // namespace tensorscope::text
