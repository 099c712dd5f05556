// SPDX-License-Identifier: Apache-2.0
// What the history of one dump says of its suspects: whose bytes explain the growth a step, and which of them only
// replaced what was freed meanwhile, as a replay buffer at its limit does.
//
// Not thread-safe.
#pragma once

#include <vector>

#include "leaks/suspects.h"
#include "memory/grouping.h"
#include "memory/run_growth.h"

namespace tensorscope::analyzer {

// How memory of the device whose memory grew most, else that had the most, went over the run.
struct RunTrend {
  bool known = false;  // there is a history
  Device device;
  RunGrowth growth;

  bool grew() const { return growth.kind == GrowthKind::grew; }
};
RunTrend run_trend(const Dump& dump);

// Sets the share that each has of the growth, and puts those first that are most of it. Moves those to `replaced`
// during whose late growth live memory did not grow.
void compare_with_history(const View& view, std::vector<Suspect>& suspects, std::vector<Suspect>& replaced);

// What part of the growth a step no suspect explains, from 0 to 1; 0 where memory did not grow.
double unexplained_share(const RunTrend& trend, const std::vector<Suspect>& suspects);

}  // namespace tensorscope::analyzer
