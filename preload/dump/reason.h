// SPDX-License-Identifier: Apache-2.0
// Why a dump is written.
//
// Context: any: constants.
#pragma once

#include <cstdint>

namespace tensorscope::dump {

// = format::Trigger
enum class Reason : uint8_t { signal = 1, exit = 2, call = 3, out_of_memory = 4, growth = 5, low_memory = 6 };

}  // namespace tensorscope::dump
