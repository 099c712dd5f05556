// SPDX-License-Identifier: Apache-2.0
// Which frames are this library's own, so that a stack begins with the caller of the hooked function.
//
// Context: any.
#pragma once

#include "stacks/code_range.h"

namespace tensorscope::stacks {

// The code of the shared library that holds the profiler; an empty range where it is linked into a program (tests).
CodeRange find_own_code();

}  // namespace tensorscope::stacks
