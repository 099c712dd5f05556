// SPDX-License-Identifier: Apache-2.0
// What if the model were in 16 bits, or its forward pass under autocast.
#pragma once

#include "forecast/operations.h"
#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

// model.to(dtype) with inputs of that type: what is float32 is half as large. Code that casts back to float32 casts
// nothing in a float32 run; where the known source lines show such code, or a loss computes, a block has between half
// and all of its bytes, and so has memory in no tensor. Attention that is computed by its formula saves a float32 copy
// of its values; a loss may be given a float32 copy.
void apply_dtype(Replay& replay, const Sample& base, const Operations& operations);

}  // namespace tensorscope::analyzer::forecast
