// The same program with something changed that needs no other run: another precision, checkpointing, another optimizer,
// ranks that share its state. Each changes a play; what it cannot know goes into Piece::unsure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/replay.h"

namespace tensorscope::analyzer::forecast {

enum class OptimizerKind : uint8_t { sgd, momentum, adam, adamw, rmsprop, adagrad };
// "sgd", "momentum", ...; none: another word.
std::optional<OptimizerKind> optimizer_named(std::string_view word);
std::vector<std::string> optimizer_names();

struct Changes {
  std::string dtype{};                      // "bfloat16", "float16"; "" as it is
  std::vector<std::string> checkpointed{};  // patterns of module paths: "model.layers.*"
  std::optional<OptimizerKind> optimizer{};
  int ranks = 1;
  bool autocast = false;
};

// Throws BadInput where the program has no such modules, or no parameters.
Replay with_changes(const Replay& replay, const Sample& base, const Changes& changes);

}  // namespace tensorscope::analyzer::forecast
