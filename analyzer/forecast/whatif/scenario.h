// SPDX-License-Identifier: Apache-2.0
// The same program with something changed that needs no other run: another precision, checkpointing, another optimizer,
// ranks that share its state. Each changes a replay; what it cannot know goes into ReplayBlock::unsure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "forecast/replay.h"
#include "forecast/whatif/optimizer.h"

namespace tensorscope::analyzer::forecast {

struct Scenario {
  std::string dtype{};                      // "bfloat16", "float16"; "" as it is
  std::vector<std::string> checkpointed{};  // patterns of module paths: "model.layers.*"
  std::optional<OptimizerKind> optimizer{};
  int ranks = 1;
  bool autocast = false;
};

// Throws BadInput where the program has no such modules, or no parameters.
Replay apply_scenario(const Replay& replay, const Sample& base, const Scenario& scenario);

}  // namespace tensorscope::analyzer::forecast
