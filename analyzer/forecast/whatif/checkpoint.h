// SPDX-License-Identifier: Apache-2.0
// What if torch.utils.checkpoint were around some modules: what they save goes as their forward ends, and backward
// computes it again.
#pragma once

#include <string>
#include <vector>

#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

// `patterns`: of module paths, "model.layers.*". Throws BadInput where no such module has a forward pass that backward
// follows.
void under_checkpoint(Replay& replay, const Sample& base, const std::vector<std::string>& patterns);

}  // namespace tensorscope::analyzer::forecast
