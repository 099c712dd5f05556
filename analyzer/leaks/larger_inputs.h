// SPDX-License-Identifier: Apache-2.0
// Inputs that become larger from step to step, as in a curriculum of longer sequences, make everything that is computed
// from them larger. What was joined to the earlier data each time (`all = torch.cat([all, x])`) becomes larger, too,
// but is itself the first that does so in a step.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "memory/grouping.h"

namespace tensorscope::analyzer {

// The first of these tensors, which are all made anew and larger in each step, by the program's own clock: UINT64_MAX
// where no input is among them. A tensor that was made before it is larger for another reason.
uint64_t first_larger_input(const View& view, std::span<const uint32_t> tensors);

// What this tensor was made at, on the same clock.
inline uint64_t made_at(const View& view, uint32_t tensor) { return view.dump.tensors[tensor].serial; }

}  // namespace tensorscope::analyzer
