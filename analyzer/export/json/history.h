// SPDX-License-Identifier: Apache-2.0
// The time before a dump in `export --format json`.
#pragma once

#include <ostream>

#include "dump/dump.h"

namespace tensorscope::exports {

// "history" and "peak", each with a comma before it.
void write_history_json(const analyzer::Dump& dump, std::ostream& out);

}  // namespace tensorscope::exports
