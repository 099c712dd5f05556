// SPDX-License-Identifier: Apache-2.0
#include "memory/run_growth.h"

#include <algorithm>
#include <cmath>

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMinEnds = 8;

struct End {
  double at = 0;  // step, or second
  uint64_t step = 0;
  int64_t live = 0;
};

// Ends of steps as the last source counts them; without steps the seconds, this dump left out: it may come at any
// phase.
std::vector<End> ends(const History& history, size_t device, bool by_step) {
  std::vector<End> found;
  const uint8_t source = history.points.back().source;
  for (size_t i = 0; i < history.points.size(); ++i) {
    const HistoryPoint& point = history.points[i];
    if (point.kind != (by_step ? MomentKind::step : MomentKind::second)) continue;
    if (by_step && point.source != source) continue;
    const double at = by_step ? double(point.step) : double(point.ns - history.points.front().ns) / 1e9;
    found.push_back({at, point.step, int64_t(history.level(i, device).live)});
  }
  found.erase(found.begin(), found.begin() + ptrdiff_t((found.size() + 9) / 10));
  return found;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool any_step(const History& history) {
  return std::any_of(history.points.begin(), history.points.end(),
                     [](const HistoryPoint& point) { return point.kind == MomentKind::step; });
}

int64_t highest(const std::vector<End>& ends, size_t first, size_t last) {
  int64_t most = 0;
  for (size_t i = first; i < last; ++i) most = std::max(most, ends[i].live);
  return most;
}

// Each end is compared with the one half of the run later, so that a batch of another size cannot pass for growth.
GrowthKind kind_of(const std::vector<End>& ends, double& each) {
  const size_t half = ends.size() / 2;
  std::vector<double> slopes;
  size_t more = 0;
  for (size_t i = 0; i + half < ends.size(); ++i) {
    const int64_t grown = ends[i + half].live - ends[i].live;
    const double length = ends[i + half].at - ends[i].at;
    slopes.push_back(length > 0 ? double(grown) / length : 0);
    more += grown > 0;
  }
  each = median(slopes);
  // Growth that has come to its end is in the first half alone.
  const int64_t later = highest(ends, half, half + half / 2), last = highest(ends, half + half / 2, ends.size());
  if (each >= 1 && more * 10 >= slopes.size() * 9 && last > later) return GrowthKind::grew;
  std::vector<double> second;
  for (size_t i = half; i < ends.size(); ++i) second.push_back(double(ends[i].live));
  return median(second) > double(highest(ends, 0, std::max<size_t>(half / 2, 1))) ? GrowthKind::grew_first
                                                                                  : GrowthKind::steady;
}

}  // namespace

RunGrowth run_growth(const History& history, size_t device) {
  RunGrowth growth;
  if (!history.present() || device >= history.devices.size()) return growth;
  growth.by_step = any_step(history);
  const std::vector<End> compared = ends(history, device, growth.by_step);
  if (compared.empty()) return growth;
  growth.units = uint64_t(std::llround(compared.back().at - compared.front().at));
  growth.first = uint64_t(compared.front().live);
  growth.last = uint64_t(compared.back().live);
  growth.first_step = compared.front().step;
  growth.last_step = compared.back().step;
  const auto [low, high] =
      std::minmax_element(compared.begin(), compared.end(), [](const End& a, const End& b) { return a.live < b.live; });
  growth.lowest = uint64_t(low->live);
  growth.highest = uint64_t(high->live);
  if (compared.size() >= kMinEnds) growth.kind = kind_of(compared, growth.bytes_each);
  return growth;
}

size_t fastest_growing(const History& history) {
  size_t fastest = 0;
  double most = 0;
  for (size_t device = 0; device < history.devices.size(); ++device) {
    const RunGrowth growth = run_growth(history, device);
    if (growth.kind != GrowthKind::grew || growth.bytes_each <= most) continue;
    most = growth.bytes_each;
    fastest = device;
  }
  return fastest;
}

}  // namespace tensorscope::analyzer
