// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/history.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dump/decode/decoding.h"
#include "dump/sum_guard.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr uint64_t kMaxDevices = 64;
constexpr uint64_t kMaxBytes = uint64_t{1} << 56;  // that a level may have: sums and differences of them fit

template <typename Rows>
bool each_device_once(const Rows& rows) {
  std::set<std::pair<int8_t, int8_t>> seen;
  for (const auto* row : rows) {
    if (!seen.emplace(row->device_type(), row->device_index()).second) return false;
  }
  return rows.size() <= kMaxDevices;
}

bool is_sound(const format::HistoryPoint& point) {
  return point.kind() <= format::MomentKind::MAX && point.source() <= format::StepSource::MAX && point.moments() > 0 &&
         point.resident() <= kMaxBytes && point.step() <= kMaxBytes;
}

bool is_sound(const format::HistoryLevel& level) {
  return level.live() <= level.peak() && level.peak() <= kMaxBytes && level.allocated() <= kMaxBytes;
}

// Time and what only grows must do so; then the points can be subtracted from each other.
bool goes_on(const History& history, size_t i) {
  if (i == 0) return true;
  if (history.points[i].ns < history.points[i - 1].ns) return false;
  if (history.points[i].source == history.points[i - 1].source && history.points[i].step < history.points[i - 1].step)
    return false;
  for (size_t device = 0; device < history.devices.size(); ++device) {
    if (history.level(i, device).allocated < history.level(i - 1, device).allocated) return false;
  }
  return true;
}

PeakGone gone_of(const format::PeakGone& row) {
  return {row.before_backward(), row.in_backward(), row.later_step(), row.of_backward(), row.after_backward()};
}

}  // namespace

void decode_history(const format::History& in, Decoding& state) {
  if (!in.devices() || !in.points() || !in.levels()) return;
  const uint64_t devices = in.devices()->size();
  bool sound = each_device_once(*in.devices()) && devices * in.points()->size() == in.levels()->size();
  History history;
  history.every = std::max<uint32_t>(in.every(), 1);
  history.devices_left_out = in.devices_left_out();
  for (const format::HistoryDevice* row : *in.devices()) {
    history.devices.push_back(device_of(row->device_type(), row->device_index()));
  }
  for (const format::HistoryPoint* row : *in.points()) {
    sound = sound && is_sound(*row);
    history.points.push_back(
        {row->ns(), row->step(), row->resident(), row->moments(), MomentKind(row->kind()), uint8_t(row->source())});
  }
  for (const format::HistoryLevel* row : *in.levels()) {
    sound = sound && is_sound(*row);
    history.levels.push_back({row->live(), row->peak(), row->allocated()});
  }
  for (size_t i = 0; sound && i < history.points.size(); ++i) sound = goes_on(history, i);
  if (!sound) return state.count("impossible histories");
  state.dump.history = std::move(history);
}

void decode_peak(const format::Peak& in, Decoding& state) {
  Peak peak;
  peak.present = true;
  peak.ns = in.ns();
  peak.step = in.step();
  peak.source = uint8_t(in.source());
  peak.bytes = in.bytes();
  peak.other_sites = in.other_sites();
  peak.other_bytes = in.other_bytes();
  peak.other_allocations = in.other_allocations();
  SumGuard of_devices, of_sites, allocations;
  bool sound = in.source() <= format::StepSource::MAX && in.bytes() <= kMaxBytes && in.step() <= kMaxBytes &&
               of_sites.admits(in.other_bytes()) && allocations.admits(in.other_allocations());
  if (in.devices()) {
    sound = sound && each_device_once(*in.devices());
    for (const format::PeakDevice* row : *in.devices()) {
      sound = sound && of_devices.admits(row->bytes());
      peak.devices.push_back({device_of(row->device_type(), row->device_index()), row->bytes()});
    }
  }
  if (in.sites()) {
    for (const format::PeakSite* row : *in.sites()) {
      sound = sound && of_sites.admits(row->bytes()) && allocations.admits(row->allocations());
      peak.sites.push_back({row->site(), row->bytes(), row->allocations(), {}, false});
    }
  }
  if (in.gone() && in.gone()->size() != 0) {
    sound = sound && in.gone()->size() == peak.sites.size();
    for (uint32_t i = 0; sound && i < in.gone()->size(); ++i) {
      const format::PeakGone& row = *in.gone()->Get(i);
      peak.sites[i].gone = gone_of(row);
      peak.sites[i].has_nodes = row.has_nodes() != 0;
    }
  }
  if (!sound) return state.count("impossible peaks");
  state.dump.peak = std::move(peak);
}

void finish_peak(Decoding& state) {
  Peak& peak = state.dump.peak;
  if (state.dump.process.dump_ns != 0) peak.ns = std::min(peak.ns, state.dump.process.dump_ns);
  for (PeakSite& row : peak.sites) {
    if (row.site >= state.dump.sites.size()) row.site = 0, state.count("references to missing sites");
  }
  std::stable_sort(peak.sites.begin(), peak.sites.end(),
                   [](const PeakSite& a, const PeakSite& b) { return a.bytes > b.bytes; });
}

}  // namespace tensorscope::analyzer
