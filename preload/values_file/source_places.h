// SPDX-License-Identifier: Apache-2.0
// The program's lines as texts of the values file: "train.py:57 step".
//
// Context: under an InsideScope or HookScope; any thread, no lock.
#pragma once

#include <cstdint>

#include "support/ids.h"

namespace tensorscope::values_file {

// The text's number; 0: no Python stack.
uint32_t source_place_of(StackId stack);

}  // namespace tensorscope::values_file
