// SPDX-License-Identifier: Apache-2.0
// How much memory finding names may take: never so much that the program has none.
//
// Context: any.
#pragma once

#include <cstdint>

#include "support/system_limits.h"

namespace tensorscope::python {

// In bytes. `at_most`: what the program's user allows; 0: no limit.
uint64_t memory_for_names(const SystemMemory& system, uint64_t at_most);

}  // namespace tensorscope::python
