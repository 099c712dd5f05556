// SPDX-License-Identifier: Apache-2.0
// Convolutions in 16 bits on a CPU: without AVX-512 torch unfolds their input into a buffer, and makes a float32 copy
// of a gradient to add up that of a bias, which no float32 run shows.
#pragma once

#include <vector>

#include "forecast/operation_inputs.h"
#include "forecast/operations.h"
#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

// Puts these buffers into a run, as something that may be there.
void add_im2col_buffers(Replay& replay, const Sample& base, const Operations& operations,
                        const std::vector<Weight>& weights);

}  // namespace tensorscope::analyzer::forecast
