// The "live" table of a report: what each device's live bytes consist of, line by line, so that the lines add up.
#pragma once

#include <string>

#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

std::string live_table(const analyzer::OpenedDump& opened, const text::Terminal& terminal);

}  // namespace tensorscope::text
