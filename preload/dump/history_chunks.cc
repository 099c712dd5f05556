// SPDX-License-Identifier: Apache-2.0
#include "dump/history_chunks.h"

#include <algorithm>
#include <vector>

#include "dump/chunk.h"

namespace tensorscope::dump {

bool write_history(const live::SnapshotView& view, ChunkSink& file) {
  const live::HistoryCopy& history = view.history;
  if (history.size == 0) return true;
  // A device may have come between the copies of both.
  const size_t device_count = std::min(history.devices, view.devices.size);
  std::vector<format::HistoryDevice> devices;
  for (size_t i = 0; i < device_count; ++i) {
    devices.emplace_back(view.devices[i].device.type, view.devices[i].device.index);
  }
  std::vector<format::HistoryPoint> points;
  std::vector<format::HistoryLevel> levels;
  for (size_t i = 0; i < history.size; ++i) {
    const live::HistoryPoint& point = history.points[i];
    points.emplace_back(point.ns, point.step, point.resident, point.moments, format::MomentKind(point.kind),
                        format::StepSource(point.source));
    for (size_t device = 0; device < device_count; ++device) {
      const live::HistoryLevels& level = point.devices[device];
      levels.emplace_back(level.live, level.peak, level.allocated);
    }
  }
  Chunk chunk(format::kHistory, levels.size() * sizeof(format::HistoryLevel) + 16384);
  return chunk.append_to(file, format::CreateHistoryDirect(chunk.builder(), history.every, &devices, &points, &levels,
                                                           uint32_t(history.devices_left_out)));
}

bool write_peak(const live::SnapshotView& view, ChunkSink& file, size_t most_sites) {
  const live::KeptPeak& peak = view.peak;
  if (peak.ns == 0) return true;
  std::vector<format::PeakDevice> devices;
  for (size_t i = 0; i < view.devices.size; ++i) {
    devices.emplace_back(peak.devices[i], view.devices[i].device.type, view.devices[i].device.index);
  }
  std::vector<format::PeakSite> sites;
  std::vector<format::PeakGone> gone;
  for (size_t id = 0; id < view.sites.size; ++id) {
    const live::SiteCounters& site = view.sites[id];
    if (site.bytes_kept != 0) sites.emplace_back(site.bytes_kept, site.allocations_kept, uint32_t(id));
  }
  std::stable_sort(sites.begin(), sites.end(), [](const auto& a, const auto& b) { return a.bytes() > b.bytes(); });
  const size_t kept = std::min(most_sites, sites.size());
  uint64_t other_bytes = 0, other_allocations = 0;
  for (size_t i = kept; i < sites.size(); ++i) {
    other_bytes += sites[i].bytes();
    other_allocations += sites[i].allocations();
  }
  const auto others = uint32_t(sites.size() - kept);
  sites.erase(sites.begin() + ptrdiff_t(kept), sites.end());
  for (const format::PeakSite& row : sites) {
    const auto bytes = [&](live::PeakEnd end) { return view.sites[row.site()].kept_gone[size_t(end)]; };
    using live::PeakEnd;
    gone.emplace_back(bytes(PeakEnd::before_backward), bytes(PeakEnd::in_backward), bytes(PeakEnd::later_step),
                      bytes(PeakEnd::of_backward), bytes(PeakEnd::after_backward),
                      uint8_t(view.sites[row.site()].has_nodes));
  }
  Chunk chunk(format::kPeak);
  return chunk.append_to(
      file, format::CreatePeakDirect(chunk.builder(), peak.ns, peak.steps.count, format::StepSource(peak.steps.source),
                                     peak.bytes, &devices, &sites, others, other_bytes, other_allocations, &gone));
}

}  // namespace tensorscope::dump
