// SPDX-License-Identifier: Apache-2.0
// A stretch of loaded code.
//
// Context: any.
#pragma once

#include <cstdint>

namespace tensorscope::stacks {

struct CodeRange {
  uint64_t begin = 0, end = 0;  // an empty one holds nothing
  bool holds(uint64_t address) const { return address - begin < end - begin; }
};

}  // namespace tensorscope::stacks
