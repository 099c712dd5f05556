// SPDX-License-Identifier: Apache-2.0
// A frame of a native stack, as the trie of them has it.
#pragma once

#include <cstdint>

#include "support/ids.h"

namespace tensorscope::stacks {

struct NativeFrame {
  uint64_t address;  // return address
  StackId parent;    // the caller's frame; smaller than the own id
};

}  // namespace tensorscope::stacks
