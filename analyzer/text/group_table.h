// Groups as rows: bytes, share, count, age, place and source line. Shared by report and check.
#pragma once

#include <string>
#include <vector>

#include "memory/opened_dump.h"
#include "text/table.h"
#include "text/terminal.h"

namespace tensorscope::commands {

// `total`: what 100 % is.
std::string group_table(model::OpenedDump& opened, const std::vector<model::Group>& groups, model::By by,
                        uint64_t total, bool full_stacks, const render::Terminal& terminal);

// Below a row of a place, from `column` on: its module and callers, or its whole stack.
void add_notes(render::Table& table, size_t column, model::OpenedDump& opened, const model::Group& group, model::By by,
               bool full_stacks);

}  // namespace tensorscope::commands
