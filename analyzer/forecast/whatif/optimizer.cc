// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/optimizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "support/error.h"

namespace tensorscope::analyzer::forecast {

namespace {

struct OptimizerNeeds {
  const char* word;
  double state;      // times the trained parameters
  double temporary;  // in its step: times the largest parameter where it steps one by one
};
// What torch.optim's classes keep for a parameter, and what the step of one parameter makes.
constexpr std::array<OptimizerNeeds, 6> kOptimizers = {{
    {"sgd", 0, 0},
    {"momentum", 1, 0},
    {"adam", 2, 2},
    {"adamw", 2, 2},
    {"rmsprop", 1, 1},
    {"adagrad", 1, 1},
}};

// The most bytes that replay blocks of a category have at once, and those of the largest one.
struct CategorySum {
  double most = 0, largest = 0;
};
CategorySum sum_of(const Replay& replay, const SizeValues& at, Category category) {
  CategorySum sum;
  double live = 0;
  for (const Change& change : replay.changes) {
    const ReplayBlock& replay_block = replay.blocks[change.block];
    if (replay_block.category != category) continue;
    const double bytes = replay.growths[replay_block.growth].bytes(at) * replay_block.factor;
    live += change.made ? bytes : -bytes;
    sum.most = std::max(sum.most, live);
    sum.largest = std::max(sum.largest, bytes);
  }
  return sum;
}

}  // namespace

std::optional<OptimizerKind> optimizer_named(std::string_view word) {
  for (size_t i = 0; i < kOptimizers.size(); ++i) {
    if (word == kOptimizers[i].word) return OptimizerKind(i);
  }
  return std::nullopt;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> words;
  for (const OptimizerNeeds& needs : kOptimizers) words.emplace_back(needs.word);
  return words;
}

void with_optimizer(Replay& replay, const Sample& base, OptimizerKind kind) {
  const OptimizerNeeds& needs = kOptimizers[size_t(kind)];
  const SizeValues none;
  CategorySum trained = sum_of(replay, none, Category::gradient);
  if (trained.most == 0) trained = sum_of(replay, none, Category::parameter);
  if (trained.most == 0) throw BadInput(base.file + " has no gradients and no parameters; --optimizer needs them.");
  for (ReplayBlock& replay_block : replay.blocks) {
    const bool own = replay_block.block != kNone && base.blocks[replay_block.block].optimizer;
    if (own || replay_block.category == Category::optimizer_state) replay_block.factor = 0;
  }
  const auto add = [&](double bytes, Category category) {
    return replay.add(ReplayBlock{kNone, replay.add(Growth::constant(bytes)), 1, 0, category, kNone});
  };
  const uint32_t state = add(needs.state * trained.most, Category::optimizer_state);
  // On devices torch.optim steps all parameters at once.
  const double at_once = base.device.is_cpu() ? needs.temporary * trained.largest : trained.most;
  const uint32_t temporary = add(needs.temporary == 0 ? 0 : at_once, Category::temporary);
  std::vector<Change> changes;
  if (base.steps.empty()) changes.push_back({state, true});
  size_t step = 0;
  for (size_t i = 0; i <= replay.changes.size(); ++i) {
    for (; step < base.steps.size() && base.steps[step] == i; ++step) {
      if (step == 0) changes.push_back({state, true});
      changes.push_back({temporary, true});
      changes.push_back({temporary, false});
    }
    if (i < replay.changes.size()) changes.push_back(replay.changes[i]);
  }
  replay.changes = std::move(changes);
}

}  // namespace tensorscope::analyzer::forecast
