// SPDX-License-Identifier: Apache-2.0
#include "forecast/replay.h"

#include <algorithm>

namespace tensorscope::analyzer::forecast {

namespace {

std::vector<double> bytes_of_growths(const Replay& replay, const SizeValues& at) {
  std::vector<double> bytes;
  bytes.reserve(replay.growths.size());
  for (const Growth& growth : replay.growths) bytes.push_back(growth.bytes(at));
  return bytes;
}

// `visit(change, live)` after each change, until it returns false.
template <typename Visit>
void each_change(const Replay& replay, const SizeValues& at, Visit visit) {
  const std::vector<double> bytes = bytes_of_growths(replay, at);
  double live = 0;
  for (size_t i = 0; i < replay.changes.size(); ++i) {
    const ReplayBlock& replay_block = replay.blocks[replay.changes[i].block];
    const double change = bytes[replay_block.growth] * replay_block.factor;
    live += replay.changes[i].made ? change : -change;
    if (!visit(i, live)) return;
  }
}

// Where `may_be(bytes, spread, unsure)` says what a block has.
template <typename MayBe>
PeakAt peak_of(const Replay& replay, const SizeValues& at, const SizeValues& base, MayBe may_be) {
  std::vector<double> spreads;
  for (const Growth& growth : replay.growths) spreads.push_back(growth.spread(at, base));
  const std::vector<double> own = bytes_of_growths(replay, at);
  PeakAt found;
  double live = 0;
  for (size_t i = 0; i < replay.changes.size(); ++i) {
    const ReplayBlock& replay_block = replay.blocks[replay.changes[i].block];
    const double change =
        may_be(own[replay_block.growth], spreads[replay_block.growth], replay_block.unsure) * replay_block.factor;
    live += replay.changes[i].made ? change : -change;
    if (live > found.bytes) found = {live, i};
  }
  return found;
}

}  // namespace

ReplayBlock as_uncertainty(ReplayBlock replay_block) {
  constexpr double kNothing = 1e-6;  // of its bytes
  replay_block.factor *= kNothing;
  replay_block.unsure = 1 / kNothing;
  return replay_block;
}

Replay replay_of(const Sample& base, Matched matched) {
  Replay replay;
  replay.blocks.resize(base.blocks.size());
  for (size_t i = 0; i < base.blocks.size(); ++i) {
    replay.blocks[i] = {uint32_t(i), matched.growth[i], matched.share[i], 0, base.blocks[i].category, kNone};
  }
  replay.changes = base.changes;
  replay.growths = std::move(matched.growths);
  return replay;
}

Replay without_scratch(const Replay& replay) {
  Replay result = replay;
  for (ReplayBlock& replay_block : result.blocks) {
    if (replay.growths[replay_block.growth].basis() == Basis::scratch) replay_block.factor = 0;
  }
  return result;
}

PeakAt peak(const Replay& replay, const SizeValues& at) {
  PeakAt found;
  each_change(replay, at, [&](size_t change, double live) {
    if (live > found.bytes) found = {live, change};
    return true;
  });
  return found;
}

std::vector<LiveBlock> live_after(const Replay& replay, size_t change, const SizeValues& at) {
  const std::vector<double> bytes = bytes_of_growths(replay, at);
  std::vector<int> alive(replay.blocks.size());
  for (size_t i = 0; i <= change && i < replay.changes.size(); ++i) {
    alive[replay.changes[i].block] += replay.changes[i].made ? 1 : -1;
  }
  std::vector<LiveBlock> result;
  for (size_t i = 0; i < alive.size(); ++i) {
    const ReplayBlock& replay_block = replay.blocks[i];
    if (alive[i] > 0) result.push_back({uint32_t(i), bytes[replay_block.growth] * replay_block.factor * alive[i]});
  }
  return result;
}

size_t first_over(const Replay& replay, const SizeValues& at, double limit) {
  size_t found = replay.changes.size();
  each_change(replay, at, [&](size_t change, double live) {
    if (live > limit) found = change;
    return live <= limit;
  });
  return found;
}

PeakAt highest_possible(const Replay& replay, const SizeValues& at, const SizeValues& base) {
  return peak_of(replay, at, base,
                 [](double own, double spread, double unsure) { return own + spread + own * unsure; });
}

PeakAt least_possible(const Replay& replay, const SizeValues& at, const SizeValues& base) {
  return peak_of(replay, at, base,
                 [](double own, double spread, double unsure) { return std::max(0.0, own - spread - own * unsure); });
}

double spread_after(const Replay& replay, size_t change, const SizeValues& at, const SizeValues& base) {
  double sum = 0;
  for (const LiveBlock& live : live_after(replay, change, at)) {
    const ReplayBlock& replay_block = replay.blocks[live.replay_block];
    sum +=
        replay.growths[replay_block.growth].spread(at, base) * replay_block.factor + replay_block.unsure * live.bytes;
  }
  return sum;
}

}  // namespace tensorscope::analyzer::forecast
