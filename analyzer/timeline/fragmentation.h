// SPDX-License-Identifier: Apache-2.0
// How much of what a device's allocator has reserved is free, and in which pieces: from its segments, as the calls of
// the device's runtime tell them, and the blocks that lie in them.
#pragma once

#include "recording/live_state.h"
#include "timeline/timeline.h"

namespace tensorscope::analyzer {

// `free` 0 where there are no segments. Linear to what is alive, times its logarithm.
FreeMemory free_memory(const LiveState& state, Device device);

}  // namespace tensorscope::analyzer
