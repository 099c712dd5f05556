// SPDX-License-Identifier: Apache-2.0
// Runs the call frame instructions of .eh_frame up to one address and says what they come to as an UnwindRule.
//
// Format: DWARF 5 section 6.4.2; DW_CFA_GNU_*: GCC's include/dwarf2.def. x86-64 column numbers: System V ABI AMD64 1.0
// figure 3.36 (6 RBP, 7 RSP, 16 the return address).
//
// Context: hook. No malloc.
#pragma once

#include <cstdint>

#include "stacks/native/byte_reader.h"
#include "stacks/native/unwind_rule.h"

namespace tensorscope::stacks {

inline constexpr uint64_t kReturnAddressColumn = 16;

struct CfaAlignment {
  uint64_t code = 1;
  int64_t data = 1;
};

// `common`: the CIE's initial instructions. `own`: the FDE's. `offset`: of the wanted address from the function's
// begin.
UnwindRule run_cfa_programs(ByteReader common, ByteReader own, CfaAlignment alignment, uint64_t offset);

}  // namespace tensorscope::stacks
