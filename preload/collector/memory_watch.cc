// SPDX-License-Identifier: Apache-2.0
#include "collector/memory_watch.h"

#include <algorithm>

namespace tensorscope::collector {

namespace {

unsigned look_within_ms(uint64_t left, uint64_t share) {
  if (left / 2 < share) return MemoryWatch::kNearMs;
  return left / 4 < share ? MemoryWatch::kCloserMs : MemoryWatch::kFarMs;
}

}  // namespace

MemoryWatch::Verdict MemoryWatch::look(const SystemMemory& memory, uint64_t live, uint64_t pending,
                                       const ShareOrSize& share) {
  Verdict verdict;
  // What the process has touched is not only torch's, so the difference alone would hide a request as large as the
  // rest.
  const uint64_t untouched = std::max(live - std::min(live, memory.touched), pending);
  if (inherited_ == kNotMeasured) inherited_ = std::max(memory.touched, live);
  const uint64_t in_use = memory.touched + untouched;
  const uint64_t own = in_use - std::min(in_use, inherited_);
  for (size_t i = 0; i < kWatchedLimitsCount; ++i) {
    const WatchedLimit& watched = kWatchedLimits[i];
    const LimitState& state = memory.*watched.state;
    if (!state.is_set()) continue;
    const bool by_touch = watched.used_by == UsedBy::touched_memory;
    const uint64_t left = by_touch ? state.left - std::min(state.left, untouched) : state.left;
    const uint64_t low = std::min(share.of(state.limit), state.limit / 2);  // a size may be larger than the limit
    const bool is_low = left < low;
    const bool ours = watched.used_by == UsedBy::mapped_memory || (by_touch ? own : memory.shared_mapped) >= low;
    if (left / 2 > low) told_[i] = false;
    const bool tell = is_low && ours && !told_[i];
    if (tell) {
      told_[i] = true;
      if (verdict.low == SystemLimit::none || left < verdict.left) {
        verdict.low = watched.limit;
        verdict.limit = state.limit;
        verdict.left = left;
      }
    }
    const uint64_t until_low = is_low ? UINT64_MAX : left - low;
    if (watched.used_by == UsedBy::files) {  // none of torch's allocations uses it up
      const unsigned within = is_low || left / 4 >= low ? kFarMs : kCloserMs;
      verdict.look_within_ms = verdict.look_within_ms == 0 ? within : std::min(verdict.look_within_ms, within);
      continue;
    }
    verdict.look_after = std::min({verdict.look_after, std::max(kMinStep, std::min(left / 8, until_low))});
    const unsigned within = is_low ? kFarMs : look_within_ms(left, low);  // low and told: for the way back
    verdict.look_within_ms = verdict.look_within_ms == 0 ? within : std::min(verdict.look_within_ms, within);
  }
  return verdict;
}

}  // namespace tensorscope::collector
