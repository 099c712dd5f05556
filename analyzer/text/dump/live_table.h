// SPDX-License-Identifier: Apache-2.0
// The "live" table of a report: what each device's live bytes consist of, line by line, so that the lines add up.
#pragma once

#include <string>
#include <vector>

#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// Its cells: name (indented by what it is part of), tensors, storages, bytes, remark.
std::vector<std::vector<std::string>> live_rows(const analyzer::OpenedDump& opened);
std::string live_table(const analyzer::OpenedDump& opened, const text::Terminal& terminal);

}  // namespace tensorscope::text
