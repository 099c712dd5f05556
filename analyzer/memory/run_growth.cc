// SPDX-License-Identifier: Apache-2.0
#include "memory/run_growth.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

// The median over all pairs of ends: neither batches of different sizes nor a single jump decide it.
double median_slope(const std::vector<End>& ends) {
  std::vector<double> slopes;
  for (size_t i = 0; i < ends.size(); ++i) {
    for (size_t k = i + 1; k < ends.size(); ++k) {
      if (ends[k].at > ends[i].at) slopes.push_back(double(ends[k].live - ends[i].live) / (ends[k].at - ends[i].at));
    }
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

// Whether at nearly each end more is live half of the run later, and more at last than before: growth that has come to
// its end is in the first half alone.
bool grew_all_the_time(const std::vector<End>& ends) {
  const size_t half = ends.size() / 2, three_quarters = half + half / 2;
  size_t more = 0;
  for (size_t i = 0; i + half < ends.size(); ++i) more += ends[i + half].live > ends[i].live;
  return more * 10 >= (ends.size() - half) * 9 &&
         highest(ends, three_quarters, ends.size()) > highest(ends, half, three_quarters);
}

bool more_in_the_second_half(const std::vector<End>& ends) {
  const size_t half = ends.size() / 2;
  std::vector<double> second;
  for (size_t i = half; i < ends.size(); ++i) second.push_back(double(ends[i].live));
  return median(std::move(second)) > double(highest(ends, 0, std::max<size_t>(half / 2, 1)));
}

GrowthKind kind_of(const std::vector<End>& ends, double bytes_each) {
  if (bytes_each >= 1 && grew_all_the_time(ends)) return GrowthKind::grew;
  return more_in_the_second_half(ends) ? GrowthKind::grew_first : GrowthKind::steady;
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
  if (compared.size() < kMinEnds) return growth;
  growth.bytes_each = median_slope(compared);
  growth.kind = kind_of(compared, growth.bytes_each);
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

uint64_t peak_of(const History& history, size_t device) {
  uint64_t most = 0;
  for (size_t i = 0; i < history.points.size(); ++i) most = std::max(most, history.level(i, device).peak);
  return most;
}

size_t leading_device(const History& history) {
  const size_t fastest = fastest_growing(history);
  if (run_growth(history, fastest).kind == GrowthKind::grew) return fastest;
  size_t most = 0;
  for (size_t device = 1; device < history.devices.size(); ++device) {
    if (peak_of(history, device) > peak_of(history, most)) most = device;
  }
  return most;
}

}  // namespace tensorscope::analyzer
