// The "live" table of a report: what each device's live bytes consist of, line by line, so that the lines add up.
#pragma once

#include <string>

#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::commands {

std::string live_table(const model::OpenedDump& opened, const render::Terminal& terminal);

}  // namespace tensorscope::commands
