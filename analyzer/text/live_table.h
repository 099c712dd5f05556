// The "live" table of a report: what each device's live bytes consist of, line by line, so that the lines add up.
#pragma once

#include <string>

#include "commands/opened_dump.h"

namespace tensorscope::commands {

std::string live_table(const OpenedDump& opened, const render::Terminal& terminal);

}  // namespace tensorscope::commands
