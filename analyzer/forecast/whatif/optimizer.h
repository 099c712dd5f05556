// SPDX-License-Identifier: Apache-2.0
// What if the program had another optimizer of torch.optim: its state, and what its step makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

enum class OptimizerKind : uint8_t { sgd, momentum, adam, adamw, rmsprop, adagrad };
// "sgd", "momentum", ...; none: another word.
std::optional<OptimizerKind> optimizer_named(std::string_view word);
std::vector<std::string> optimizer_names();

// Throws BadInput for a program that has neither gradients nor parameters.
void with_optimizer(Replay& replay, const Sample& base, OptimizerKind kind);

}  // namespace tensorscope::analyzer::forecast
