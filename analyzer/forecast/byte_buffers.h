// SPDX-License-Identifier: Apache-2.0
// Tensors of bytes that cuDNN works in, and keeps for backward, in recurrent layers on devices: what grows of them with
// the sizes is as wide as the operation's type, the rest has the same bytes in all types. oneDNN keeps such a tensor on
// CPUs, where states of cells in it are float32 in any case; without AVX-512 torch runs a loop that keeps less.
#pragma once

#include <utility>

#include "forecast/replay.h"
#include "forecast/samples.h"
#include "forecast/whatif/replay_edit.h"

namespace tensorscope::analyzer::forecast {

bool is_byte_buffer(const Block& block);
// The part of something's bytes that may be there: between the least and the most.
struct KeptPart {
  double least = 0, most = 1;
};
// Of what grows of such a buffer, in 16 bits.
KeptPart kept_in_half(const Device& device);

// `change` makes the replay block. What grows of it has `kept` of its bytes; the rest becomes a replay block of its
// own.
void scale_what_grows(Replay& replay, ReplayEdit& edit, size_t change, uint32_t replay_block, KeptPart kept);

}  // namespace tensorscope::analyzer::forecast
