// SPDX-License-Identifier: Apache-2.0
#include "leaks/run_history.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

// The last third of the run, from one end of a step to another; without steps from second to second.
struct LatePart {
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t before = 0, after = 0;    // live bytes
  uint64_t lowest = 0, highest = 0;  // between them
};

std::optional<LatePart> late_part(const History& history, size_t device) {
  constexpr size_t kMinPoints = 12, kParts = 3;
  const bool by_step = run_growth(history, device).by_step;
  std::vector<size_t> points;
  for (size_t i = 0; i < history.points.size(); ++i) {
    const HistoryPoint& point = history.points[i];
    if (point.kind != (by_step ? MomentKind::step : MomentKind::second)) continue;
    if (!by_step || point.source == history.points.back().source) points.push_back(i);
  }
  if (points.size() < kMinPoints) return std::nullopt;
  points.erase(points.begin(), points.begin() + ptrdiff_t(points.size() - points.size() / kParts));
  const auto live = [&](size_t point) { return history.level(point, device).live; };
  LatePart part{history.points[points.front()].ns,
                history.points[points.back()].ns,
                live(points.front()),
                live(points.back()),
                UINT64_MAX,
                0};
  for (const size_t point : points) {
    part.lowest = std::min(part.lowest, live(point));
    part.highest = std::max(part.highest, live(point));
  }
  return part;
}

// Of a suspect's memory on this device the bytes that were made in this time.
uint64_t made_in(const View& view, const Suspect& suspect, const LatePart& part, const Device& device) {
  std::set<uint32_t> items;
  for (const uint32_t tensor : suspect.tensors) items.insert(view.accounts.item_of_tensor(tensor));
  uint64_t bytes = 0;
  for (const uint32_t item : items) {
    const Item& entry = view.accounts.items()[item];
    if (entry.allocation == kNone) continue;
    const Allocation& block = view.dump.allocations[entry.allocation];
    if (block.device == device && block.created_ns > part.begin_ns && block.created_ns <= part.end_ns)
      bytes += entry.bytes;
  }
  return bytes;
}

// As much was freed as it got. Where it grew little, or memory went up and down by more, nothing follows.
bool replaced_others(const LatePart& part, uint64_t made) {
  const uint64_t grew = part.after - std::min(part.before, part.after);
  return made >= kMinGrowth && grew * 2 < made && part.highest - part.lowest < made;
}

bool only_replaced(const View& view, const Suspect& suspect) {
  const History& history = view.dump.history;
  for (size_t device = 0; device < history.devices.size(); ++device) {
    const std::optional<LatePart> part = late_part(history, device);
    if (!part) continue;
    if (replaced_others(*part, made_in(view, suspect, *part, history.devices[device]))) return true;
  }
  return false;
}

}  // namespace

RunTrend run_trend(const Dump& dump) {
  RunTrend trend;
  if (!dump.history.present() || dump.history.devices.empty()) return trend;
  const size_t device = leading_device(dump.history);
  trend.known = true;
  trend.device = dump.history.devices[device];
  trend.growth = run_growth(dump.history, device);
  return trend;
}

void compare_with_history(const View& view, std::vector<Suspect>& suspects, std::vector<Suspect>& replaced) {
  const RunTrend trend = run_trend(view.dump);
  if (!trend.known) return;
  for (Suspect& suspect : suspects) {
    if (trend.grew() && trend.growth.by_step)
      suspect.share = double(bytes_each_step(suspect)) / trend.growth.bytes_each;
  }
  const auto grew = [&](const Suspect& suspect) { return !only_replaced(view, suspect); };
  const auto others = std::stable_partition(suspects.begin(), suspects.end(), grew);
  std::move(others, suspects.end(), std::back_inserter(replaced));
  suspects.erase(others, suspects.end());
  std::stable_partition(suspects.begin(), suspects.end(), [](const Suspect& each) { return each.explains_growth(); });
}

double unexplained_share(const RunTrend& trend, const std::vector<Suspect>& suspects) {
  if (!trend.grew()) return 0;
  double explained = 0;
  for (const Suspect& suspect : suspects) explained += suspect.share;
  return std::clamp(1 - explained, 0.0, 1.0);
}

}  // namespace tensorscope::analyzer
