// SPDX-License-Identifier: Apache-2.0
// The time before a dump in `export --format json`.
#pragma once

#include <ostream>

#include "dump/dump.h"
#include "export/json/scalars.h"
#include "memory/run_growth.h"

namespace tensorscope::exports {

Json run_growth_json(const analyzer::Device& device, const analyzer::RunGrowth& growth);

// "history" and "peak", each with a comma before it.
void write_history_json(const analyzer::Dump& dump, std::ostream& out);

}  // namespace tensorscope::exports
