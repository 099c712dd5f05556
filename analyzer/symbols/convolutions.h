// SPDX-License-Identifier: Apache-2.0
// Whether a stack is of a convolution.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

enum class Convolution : uint8_t {
  none,
  operation,  // an operation of one, or of its backward
  plan,       // likewise, where torch allocates what cuDNN works in
  not_told    // no native frame is named as an operation is: libraries of another machine
};

Convolution convolution_in(const std::vector<Frame>& stack);

}  // namespace tensorscope::analyzer
