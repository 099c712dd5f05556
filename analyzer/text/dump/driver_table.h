// SPDX-License-Identifier: Apache-2.0
// What CUPTI reported, as `report` prints it: whose the driver's memory is, and which places keep the devices busy.
#pragma once

#include <string>

#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// Empty where CUPTI was not asked; ends with an empty line otherwise.
std::string driver_table(analyzer::OpenedDump& opened, const text::Terminal& terminal);

// Kernels, copies and fills by place, the busiest first, at most `top` places (0: all).
std::string launch_table(analyzer::OpenedDump& opened, size_t top, const text::Terminal& terminal);

}  // namespace tensorscope::text
