// SPDX-License-Identifier: Apache-2.0
// What if parameters, gradients and optimizer state were sharded over ranks, as fully_shard does (FSDP2): each rank has
// its part of them, and each module whole only while it runs.
#pragma once

#include <string>

#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

// "model.layers.3.attn" is in "model.layers.3"; a path without numbers stays.
std::string numbered_part(const std::string& path);

// fully_shard around each numbered module, and around the model, which has all the rest; on a model that is sharded
// before it has memory (meta device). Activations stay: the batch is that of one rank.
void apply_sharding(Replay& replay, const Sample& base, int ranks);

}  // namespace tensorscope::analyzer::forecast
