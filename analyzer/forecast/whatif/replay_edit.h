// SPDX-License-Identifier: Apache-2.0
// What is put into a run: blocks that come and go where the base had none, and blocks that are freed in the place of
// others. Numbers of changes are those of the run as it is, until apply().
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "forecast/replay.h"

namespace tensorscope::analyzer::forecast {

class ReplayEdit {
 public:
  // Of the changes and replay blocks that it has now.
  void start(const Replay& replay) {
    before_.assign(replay.changes.size() + 1, {});
    instead_.assign(replay.changes.size(), kNone);
    freed_.assign(replay.blocks.size(), SIZE_MAX);
    for (size_t i = 0; i < replay.changes.size(); ++i) {
      if (!replay.changes[i].made) freed_[replay.changes[i].block] = i;
    }
  }

  void make(size_t before, uint32_t replay_block) { before_[before].push_back({replay_block, true}); }
  void free(size_t before, uint32_t replay_block) { before_[before].push_back({replay_block, false}); }
  // There from one change to another.
  void keep_between(size_t begin, size_t end, uint32_t replay_block) {
    make(begin, replay_block);
    free(end, replay_block);
  }
  void free_instead(size_t change, uint32_t replay_block) { instead_[change] = replay_block; }
  // A copy, made before a change, is saved in place of a replay block, which is freed before `until`.
  void save_instead(size_t before, uint32_t copy, uint32_t replay_block, size_t until) {
    make(before, copy);
    free(until, replay_block);
    free_instead(freed(replay_block), copy);
  }
  // The change that frees a replay block of the run; SIZE_MAX: none.
  size_t freed(uint32_t replay_block) const { return freed_[replay_block]; }

  void apply(Replay& replay) const {
    std::vector<Change> changes;
    for (size_t i = 0; i <= replay.changes.size(); ++i) {
      changes.insert(changes.end(), before_[i].begin(), before_[i].end());
      if (i == replay.changes.size()) break;
      changes.push_back(instead_[i] == kNone ? replay.changes[i] : Change{instead_[i], false});
    }
    replay.changes = std::move(changes);
  }

 private:
  std::vector<std::vector<Change>> before_;  // of each change: what comes before it
  std::vector<uint32_t> instead_;            // of each change: what it frees instead
  std::vector<size_t> freed_;                // of each replay block: the change that frees it
};

}  // namespace tensorscope::analyzer::forecast
