// SPDX-License-Identifier: Apache-2.0
// A run gone through again with other sizes: the allocations of the base, each with the bytes that it will have, come
// and go in the same order; so the peak may be at another moment than it was.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/matching.h"

namespace tensorscope::analyzer::forecast {

// An allocation as it will be: `factor` times what its growth says.
struct ReplayBlock {
  uint32_t block = kNone;  // of the base; kNone: it was not there
  uint32_t growth = 0;
  double factor = 1;
  double unsure = 0;  // the part of its bytes that may or may not be, up and down
  Category category = Category::unknown;
  uint32_t like = kNone;   // of what was not there: it is made for the operation that made this block
  bool autocasts = false;  // autocast's copy of a weight, which its cache keeps for the whole forward pass

  uint32_t place() const { return block != kNone ? block : like; }
};

// Returns the block as one that counts in the range alone: none of its bytes are forecast, all of them may be there.
ReplayBlock as_uncertainty(ReplayBlock replay_block);

struct Replay {
  std::vector<ReplayBlock> blocks;
  std::vector<Change> changes;  // when blocks are allocated and freed
  std::vector<Growth> growths;
  double held = 0;      // bytes by which the peak may be higher: a rank may hold a module longer than others
  bool unread = false;  // types are not known for lack of files that the recording names

  // Return the number of what is added.
  uint32_t add(const ReplayBlock& replay_block) {
    blocks.push_back(replay_block);
    return uint32_t(blocks.size() - 1);
  }
  uint32_t add(const Growth& growth) {
    growths.push_back(growth);
    return uint32_t(growths.size() - 1);
  }
};

struct PeakAt {
  double bytes = 0;
  size_t change = 0;
};

Replay replay_of(const Sample& base, Matched matched);
// Without what cuDNN works in (Basis::scratch).
Replay without_scratch(const Replay& replay);

// Linear in the changes.
PeakAt peak(const Replay& replay, const SizeValues& at);
// Of the replay blocks alive right after a change, with their bytes.
struct LiveBlock {
  uint32_t replay_block = 0;
  double bytes = 0;
};
std::vector<LiveBlock> live_after(const Replay& replay, size_t change, const SizeValues& at);
// The first change after which more than `limit` is alive; the number of changes where there is none.
size_t first_over(const Replay& replay, const SizeValues& at, double limit);
// The most that may be alive: bytes with what they may be off, which may be at another moment than the peak.
PeakAt highest_possible(const Replay& replay, const SizeValues& at, const SizeValues& base);
// The peak where each block has the fewest bytes that it may have.
PeakAt least_possible(const Replay& replay, const SizeValues& at, const SizeValues& base);
// How far the bytes alive after a change may be off, from what is known of each growth.
double spread_after(const Replay& replay, size_t change, const SizeValues& at, const SizeValues& base);

}  // namespace tensorscope::analyzer::forecast
