// SPDX-License-Identifier: Apache-2.0
// How a number of things changed over the dumps of one run, and whether that looks like a leak.
//
// A leak piles up: what was made in each part of the time is still there at the end. A warm-up, a cache that fills
// once, a queue of batches and the tensors of the step that is going on do not: theirs all come from one part of the
// time, or are made anew. Parts are the intervals between dumps; where there are only two dumps, the one interval is
// cut into pieces by serial number, the clock that only the program's own activity drives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memory/grouping.h"
#include "memory/growing_values.h"

namespace tensorscope::analyzer {

struct Growth {
  std::vector<uint64_t> count, bytes;  // one a dump
  std::vector<uint64_t> kept;          // serials of what is alive in the last dump
  std::vector<uint64_t> first;         // and in the first one; empty where it is not known

  int64_t added() const { return count.empty() ? 0 : int64_t(count.back() - count.front()); }
  int64_t added_bytes() const { return bytes.empty() ? 0 : int64_t(bytes.back() - bytes.front()); }
};

class Timeline {
 public:
  // `views`: in order of time, of one run.
  explicit Timeline(const std::vector<View>& views);

  size_t dumps() const { return taken_.size(); }
  // One interval only: what is said about growth is weak evidence.
  bool weak() const { return taken_.size() == 2; }
  // Grew in each interval, in number or in bytes. False for a single dump.
  bool every_interval(const Growth& growth) const;
  // And what was made in each part of the time is still there. What comes and goes, so that hardly anything of the
  // first dump is in the last one, is at times a little more by chance: it has to have grown by a third.
  bool is_accumulating(const Growth& growth) const;
  // Three or more values that grow by less and less each time, in the end at less than half of the first rate: what is
  // being filled, as a cache that becomes warm. Whether it goes on is for a later dump to say. Not where as many things
  // come in each interval.
  bool slows_down(const Growth& growth) const;
  // Some of the serials come from each part of the time, and not all of them from the step that runs.
  bool spread(const std::vector<uint64_t>& serials) const;
  // A serial below this one was there before the last part of the time began.
  uint64_t last_part() const;

 private:
  bool slows_down(const std::vector<uint64_t>& values) const;
  bool may_be_a_window(const Growth& growth) const;
  bool the_run_grew_by(const Growth& growth) const;
  bool any_of_an_ended_step(const std::vector<uint64_t>& serials) const;

  std::vector<uint64_t> taken_;  // newest serial of each dump
  uint64_t running_since_;       // as of the last dump; 0: not known
  int64_t run_grew_by_;          // from the first dump to the last; 0: its history shows no growth all the time
};

// Where dumps at different phases of a step hide growth, `growth` becomes `ended`: the numbers without what the step
// that ran at each dump had made. Returns whether it did.
bool take_ended_steps(Growth& growth, const Growth& ended);

// How many of these serials are among those of a later dump.
size_t count_surviving(const std::vector<uint64_t>& serials, std::vector<uint64_t> later);

// Growth of everything that was made at one line, blocks in no tensor included.
struct PlaceGrowth {
  std::string label;  // "train.py:57 train_step"
  uint32_t site = 0;  // of the last dump that has the place
  Growth growth;
  std::vector<uint32_t> tensors;  // of the last dump, by serial: made here, or in memory that was made here
  std::string modules;            // as Group::modules
  std::map<uint32_t, uint64_t> site_bytes;
  std::vector<uint64_t> storages;  // one a dump: storages and blocks whose memory was made here
  std::vector<uint64_t> peaks;     // one a dump: the most bytes that the place's code has held at once so far
  std::vector<uint64_t> made;      // one a dump: allocations ever
  std::vector<uint64_t> made_bytes;
};

// Places whose number or bytes grew in every interval, the largest growth first.
std::vector<PlaceGrowth> growing_places(const std::vector<View>& views, const Timeline& timeline);

// Whether a place's tensors are made anew and larger each time (`all = torch.cat([all, x])`): each time about the same
// more, and each time more than ever before, which batches of varying length are not. Two dumps show it where what was
// allocated between them was on average half-way between the two sizes, and what was allocated before them was smaller.
bool grows_in_place(const PlaceGrowth& place, const Timeline& timeline);

}  // namespace tensorscope::analyzer
