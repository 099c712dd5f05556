// SPDX-License-Identifier: Apache-2.0
#include "forecast/outcome.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "memory/grouping.h"

namespace tensorscope::analyzer::forecast {

namespace {

constexpr int64_t kMaxTried = int64_t(1) << 40;
// Libraries may take another path at a size that was not seen: 0.06 % of the peak in the worst of the checked models.
constexpr double kMinError = 0.001;

// Keeps two ends only if they differ enough. The lower end is never known as well as the upper one.
void even_out(PeakRange& peak) {
  constexpr double kOneWay = 0.5;
  if (peak.less > kOneWay * peak.more) peak.less = peak.more;
}

// `least`: a part of the peak that it may be off by in any case; of what it may be where types are not known for lack
// of files: with them the peak is one within the range, and has that error.
void widen(PeakRange& peak, const Replay& replay, double least) {
  if (replay.unread) {
    peak.more += least * peak.most();
    peak.less += least * peak.least();
  }
  peak.more = std::max({peak.more, least * peak.bytes, replay.held});
  peak.less = std::max(peak.less, least * peak.bytes);
  even_out(peak);
}
}  // namespace

double missed_part(const std::vector<Sample>& samples, const std::vector<Check>& checks) {
  double worst = 0;
  for (const Check& check : checks) {
    const double seen = double(std::max<uint64_t>(1, samples[check.sample].peak));
    worst = std::max(worst, std::abs(check.predicted - seen) / seen);
  }
  return worst;
}

double least_error(const Scenario& scenario, bool cpu) {
  constexpr double kSharded = 0.035, kCheckpointing = 0.03, kHalf = 0.12, kBoth = 0.1;
  const double autocast = cpu ? 0.05 : 0.16;
  if (scenario.autocast && !scenario.checkpointed.empty()) return kBoth;
  return std::max({scenario.ranks > 1 ? kSharded : 0, scenario.checkpointed.empty() ? 0 : kCheckpointing,
                   scenario.dtype.empty() ? 0 : kHalf, scenario.autocast ? autocast : 0});
}

Outcomes::Outcomes(const PeakQuestion& question, const std::vector<Size>& sizes, std::optional<uint64_t> limit,
                   const Replay& replay, const Misses& misses)
    : question_(question), sizes_(sizes.size()), limit_(limit), misses_(misses) {
  note_reserved(sizes, replay);
}

void Outcomes::note_reserved(const std::vector<Size>& sizes, const Replay& replay) {
  for (size_t i = 0; i < question_.samples.size(); ++i) {
    const SizeValues values = values_of(sizes, i);
    const auto seen = double(question_.samples[i].reserved_peak);
    if (seen == 0) continue;
    reserves_ = true;
    reserved_miss_ = std::max(reserved_miss_, std::abs(double(reserved_peaks(replay, values).reserved) - seen) / seen);
  }
}

// Nothing where the inputs are of no device that reserves memory.
ReservedPeaks Outcomes::reserved_at_target(const Replay& replay) const {
  return reserves_ ? reserved_peaks(replay, question_.target) : ReservedPeaks();
}

// What a device's allocator leaves at blocks without cutting it off counts, and does not grow with the requests.
PeakRange Outcomes::range(const Replay& replay, const PeakAt& at, const ReservedPeaks& device, double missed) const {
  const SizeValues& from = question_.base_values;
  const double above = highest_possible(replay, question_.target, from).bytes - at.bytes;
  const double below = at.bytes - least_possible(replay, question_.target, from).bytes;
  const double more = std::max(above, spread_after(replay, at.change, question_.target, from)) + missed * at.bytes;
  const double least = kMinError * at.bytes;
  const double ends_of_blocks = double(device.allocated) - at.bytes;
  return {at.bytes, std::max({more, least, ends_of_blocks}), std::max(below + missed * at.bytes, least)};
}

PeakRange Outcomes::peak_of(const Replay& replay, const PeakAt& at, const ReservedPeaks& device, double missed,
                            double least) const {
  PeakRange result = range(replay, at, device, missed);
  widen(result, replay, least);
  return result;
}
PeakRange Outcomes::peak_of(const Replay& replay, double missed, double least) const {
  return peak_of(replay, peak(replay, question_.target), reserved_at_target(replay), missed, least);
}
// `other`: by what can be read of call stacks, where that is not all: then it may be either, or in between.
PeakRange Outcomes::or_other(PeakRange result, const std::optional<Replay>& other, double least) const {
  if (!other) return result;
  const PeakRange may_be = peak_of(*other, misses_.missed_by_read_names, least);
  result.more = std::max(result.more, may_be.most() - result.bytes);
  result.less = std::max(result.less, result.bytes - may_be.least());
  even_out(result);
  return result;
}

Outcome Outcomes::of(const Replay& replay, const PeakAt& at, const std::optional<Replay>& other, double least) const {
  Outcome result;
  const double missed = misses_.missed;
  const ReservedPeaks device = reserved_at_target(replay);
  const PeakRange known = peak_of(replay, at, device, missed, least);
  result.peak = or_other(known, other, least);
  result.unread = replay.unread || result.peak.more > known.more || result.peak.less > known.less;
  if (reserves_) reserve(result, device);
  // Where there is no memory for it, torch takes an algorithm that needs less (seen with torch 2.11 on an H100).
  std::optional<Replay> needed;
  if (base().convolves) {
    needed = without_scratch(replay);
    std::optional<Replay> other_needed;
    if (other) other_needed = without_scratch(*other);
    result.without_scratch = or_other(peak_of(*needed, missed, least), other_needed, least);
  }
  if (!limit_) return result;
  const double limit = double(*limit_);
  result.fits = fits(result, limit);
  for (size_t i = 0; i < sizes_; ++i) result.largest.push_back(largest(needed ? *needed : replay, i, limit));
  return result;
}

void Outcomes::leave_out_scratch(Outcome& outcome, const Replay& without) const {
  outcome.scratch_as_recorded = std::max(0.0, outcome.peak.bytes - outcome.without_scratch.bytes);
  outcome.peak = outcome.without_scratch;
  if (reserves_) reserve(outcome, reserved_at_target(without));
}

void Outcomes::reserve(Outcome& outcome, const ReservedPeaks& device) const {
  const auto bytes = double(device.reserved);
  outcome.reserved = {bytes, reserved_miss_ * bytes + outcome.peak.more, reserved_miss_ * bytes + outcome.peak.less};
}

Fits Outcomes::fits(const Outcome& outcome, double limit) const {
  const PeakRange& all = reserves_ ? outcome.reserved : outcome.peak;
  if (all.most() <= limit) return Fits::yes;
  const PeakRange& needed = outcome.without_scratch.bytes > 0 ? outcome.without_scratch : outcome.peak;
  return needed.bytes > limit ? Fits::no : Fits::may;
}

// By bisection, of what is predicted without its error.
LargestSize Outcomes::largest(const Replay& replay, size_t size, double limit) const {
  LargestSize result;
  result.size = size;
  SizeValues at = question_.target;
  const auto passes = [&](int64_t value) {
    at[size] = value;
    return peak(replay, at).bytes <= limit;
  };
  int64_t low = 0, high = 1;
  while (high < kMaxTried && passes(high)) {
    low = high;
    high *= 2;
  }
  if (high >= kMaxTried) {
    result.value = low;
    result.more = true;
    return result;
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (passes(middle) ? low : high) = middle;
  }
  result.value = low;
  result.none = low == 0;
  at[size] = low + 1;
  const size_t over = first_over(replay, at, limit);
  if (over >= replay.changes.size()) return result;
  const ReplayBlock& replay_block = replay.blocks[replay.changes[over].block];
  result.first_over_bytes = replay.growths[replay_block.growth].bytes(at) * replay_block.factor;
  if (replay_block.block != kNone) {
    result.first_over = place_of(base(), replay_block.block);
  } else {
    result.first_over = analyzer::text(replay_block.category);
  }
  return result;
}

}  // namespace tensorscope::analyzer::forecast
