// SPDX-License-Identifier: Apache-2.0
// What if the forward pass ran under torch.autocast: parameters stay float32, matrix products and convolutions compute
// in 16 bits, from copies of what they are given.
#pragma once

#include <vector>

#include "forecast/operation_inputs.h"
#include "forecast/operations.h"
#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

// Types follow the order of the forward pass, operation by operation. What an operation was given is not recorded: it
// is taken to be the newest block of the elements that it needs, which is alive when its backward begins where that
// needs it. Where source code casts, a block has between half and all of its bytes.
// `operations`: those of the replay (operations_of); `weights`: those of the base (weights_of).
void under_autocast(Replay& replay, const Sample& base, const Operations& operations, std::vector<Weight> weights);

}  // namespace tensorscope::analyzer::forecast
