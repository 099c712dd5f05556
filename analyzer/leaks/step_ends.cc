// SPDX-License-Identifier: Apache-2.0
#include "leaks/step_ends.h"

#include <algorithm>
#include <optional>

namespace tensorscope::analyzer {

namespace {

// The most serials that one of the last steps took.
uint64_t longest_of_late(const Steps& steps) {
  constexpr size_t kLate = 8;
  uint64_t longest = 0;
  const size_t first = steps.ends.size() > kLate ? steps.ends.size() - kLate : 1;
  for (size_t i = first; i < steps.ends.size(); ++i)
    longest = std::max(longest, (steps.ends[i] - steps.ends[i - 1]) / steps.every);
  return longest;
}

struct End {
  uint64_t step = 0, live = 0, live_at_dump = 0;
  uint8_t source = 0;
};

uint64_t live_at(const History& history, size_t point) {
  uint64_t sum = 0;
  for (size_t device = 0; device < history.devices.size(); ++device) sum += history.level(point, device).live;
  return sum;
}

// A point's level is that of the last end of a step in it.
std::optional<End> last_end(const Dump& dump) {
  const History& history = dump.history;
  if (!history.present() || history.devices_left_out > 0 || running_since(dump) == 0) return std::nullopt;
  const HistoryPoint& now = history.points.back();
  for (size_t i = history.points.size(); i-- > 0;) {
    const HistoryPoint& point = history.points[i];
    if (point.kind != MomentKind::step) continue;
    if (point.step != now.step || point.source != now.source) return std::nullopt;
    return End{point.step, live_at(history, i), live_at(history, history.points.size() - 1), point.source};
  }
  return std::nullopt;
}

}  // namespace

uint64_t running_since(const Dump& dump) {
  constexpr size_t kMinEnds = 3;
  constexpr uint64_t kLonger = 2;
  const Steps& steps = dump.steps;
  const uint64_t now = dump.process.snapshot_serial;
  if (steps.ends.size() < kMinEnds || steps.last_end == 0 || steps.last_end > now) return 0;
  return now - steps.last_end <= longest_of_late(steps) * kLonger ? steps.last_end : 0;
}

GrowthAtEnds growth_at_ends(const Dump& first, const Dump& last) {
  GrowthAtEnds growth;
  const std::optional<End> from = last_end(first), to = last_end(last);
  if (!from || !to || from->source != to->source) return growth;
  growth.known = true;
  growth.first_step = from->step;
  growth.last_step = to->step;
  growth.first = from->live;
  growth.last = to->live;
  growth.before_first = int64_t(from->live_at_dump - from->live);
  growth.before_last = int64_t(to->live_at_dump - to->live);
  return growth;
}

}  // namespace tensorscope::analyzer
