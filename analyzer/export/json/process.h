// SPDX-License-Identifier: Apache-2.0
// The parts of the JSON export (docs/json.md) about the process as a whole, and what was recorded of it.
#pragma once

#include <ostream>

#include "dump/dump.h"

namespace tensorscope::exports {

// "process", "totals", "process_memory", "coverage" and "threads", each with a comma before it.
void write_process_json(const analyzer::Dump& dump, std::ostream& out);

}  // namespace tensorscope::exports
