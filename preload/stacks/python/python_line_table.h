// SPDX-License-Identifier: Apache-2.0
// From a copied line table and an instruction's byte offset to a source line, for every format that CPython 3.8 to 3.14
// uses. What PyCode_Addr2Line computes, from bytes that need not be trusted.
//
// Context: collector. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <span>

#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

// The line of the instruction at byte `offset` of the bytecode; a negative offset is a frame that has not begun and is
// on its first line. 0: the instruction belongs to no line, or lies outside the table.
int32_t decode_line(LineFormat format, std::span<const uint8_t> table, int32_t first_line, int32_t offset);

}  // namespace tensorscope::stacks
