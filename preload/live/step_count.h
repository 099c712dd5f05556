// SPDX-License-Identifier: Apache-2.0
// How many steps of the program have ended, and who says where one ends.
//
// Context: any. One atomic word.
#pragma once

#include <cstdint>

namespace tensorscope::live {

enum class StepSource : uint8_t { none, backward, optimizer, mark };  // one replaces what those before it said

struct StepCount {
  StepSource source = StepSource::none;
  uint64_t count = 0;  // steps that have ended, as this source counts them
};
StepCount step_count();
// Counts one more. Returns the new number, 0 if a better source is known.
uint64_t count_step(StepSource source);

}  // namespace tensorscope::live
