// SPDX-License-Identifier: Apache-2.0
// How an allocation went on after a moment of a recording: what it was for may be inferred from that.
#pragma once

namespace tensorscope::analyzer {

struct AllocationLife {
  bool freed = false;          // within the recording
  bool past_step = false;      // alive after the end of the step that made it
  bool past_backward = false;  // alive when memory was allocated in a backward pass that came later
};

}  // namespace tensorscope::analyzer
