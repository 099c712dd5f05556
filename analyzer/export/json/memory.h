// SPDX-License-Identifier: Apache-2.0
// The parts of the JSON export (docs/json.md) that tell what failed and whose memory a device's is.
#pragma once

#include <ostream>

#include "dump/dump.h"

namespace tensorscope::exports {

// "failure", "device_memory", "runtime_blocks", "driver_memory" and "launches", each with a comma before it.
void write_memory_json(const analyzer::Dump& dump, std::ostream& out);

}  // namespace tensorscope::exports
