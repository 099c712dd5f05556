// SPDX-License-Identifier: Apache-2.0
#include "timeline/details.h"

#include <algorithm>

#include "timeline/fragmentation.h"

namespace tensorscope::analyzer {

namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr size_t kFreeMoments = 100;

size_t lifetime_class(uint64_t ns) {
  size_t i = 0;
  for (uint64_t limit = kMillisecond; i < MemoryTimeline::kLifetimes - 2 && ns >= limit; limit *= 10) ++i;
  return i;
}

}  // namespace

TimelineDetails::TimelineDetails(MemoryTimeline& out, size_t parts, const TimelineQuestions& questions,
                                 const RunLives& lives)
    : out_(out), questions_(questions), categories_(questions.categories, lives), spikes_(out.spikes), parts_(parts) {
  for (DeviceCurve& curve : out_.curves) {
    curve.highest.assign(parts, 0);
    if (questions.categories) curve.parts.assign(parts, {});
    if (curve.reserved_peak == 0) continue;
    curve.reserved.assign(parts, 0);
    curve.unused.assign(parts, 0);
  }
  out_.categories_known = questions.categories != nullptr;
  out_.lines.assign(questions.line_count, {});
}

void TimelineDetails::segment(const format::RecordingSegment& segment) {
  advance(segment.begin_ns());
  state_.begin(segment);
  categories_.clear();
  for (LineMemory& line : out_.lines) line.live = 0;
}

void TimelineDetails::live_allocation(const format::Allocation& row) {
  state_.add(row);
  const RecordedAllocation& added = state_.allocations[row.serial()];
  categories_.add(row.serial(), added);
  if (added.device == out_.device) add_to_lines(added.site, added.nbytes, true, false);
  if (DeviceCurve* curve = curve_of(added.device)) note_curve(*curve);
  if (events_ == 0 && out_.curve() && out_.curve()->peak_events == 0) note_peak();
}

bool TimelineDetails::event(const format::RecordedEvent& event) {
  ++events_;
  advance(event.ns);
  if (begins_step(event)) {
    begin_step(event);
    return true;
  }
  switch (event.type) {
    case format::EventType::allocated:
      if (state_.apply(event) && state_.allocations.contains(event.serial)) allocated(event);
      break;
    case format::EventType::freed:
      if (state_.apply(event)) freed(event);
      break;
    case format::EventType::device_reported:
      if (state_.apply(event)) reported(event);
      break;
    case format::EventType::runtime_allocated:
    case format::EventType::runtime_freed:
      state_.apply(event);
      break;
    default:
      break;
  }
  for (const DeviceCurve& curve : out_.curves) {
    if (events_ != curve.peak_events) continue;
    note_peak();
    break;
  }
  return true;
}

void TimelineDetails::allocated(const format::RecordedEvent& event) {
  const RecordedAllocation& made = state_.allocations[event.serial];
  categories_.add(event.serial, made);
  if (DeviceCurve* curve = curve_of(made.device)) note_curve(*curve);
  if (made.device != out_.device) return;
  SiteChurn& row = churn(event.site);
  ++row.allocations;
  row.bytes += event.nbytes;
  step_.allocations += 1;
  step_.bytes += event.nbytes;
  if (live() > step_.peak) {
    step_.peak = live();
    step_.at_peak = categories_.of(out_.device);
  }
  add_to_lines(event.site, event.nbytes, true, true);
  spikes_.change(live(), event.ns, events_, step_.number, event.site);
}

void TimelineDetails::freed(const format::RecordedEvent& event) {
  const RecordedAllocation& gone = *state_.freed;
  categories_.remove(event.serial, gone);
  if (gone.device != out_.device) return;
  const uint64_t lived = event.ns - std::min(event.ns, gone.created_ns);
  count_lifetime(lifetime_class(lived), gone.nbytes);
  const bool in_step = out_.steps_seen ? gone.created_ns >= step_.begin_ns : lived < 10 * kMillisecond;
  if (in_step) churn(gone.site).short_lived += gone.nbytes;
  add_to_lines(gone.site, gone.nbytes, false, false);
  spikes_.change(live(), event.ns, events_, step_.number, gone.site);
}

void TimelineDetails::reported(const format::RecordedEvent& event) {
  DeviceCurve* curve = curve_of(device_of(event.device_type, event.device_index));
  if (!curve || curve->reserved.empty()) return;
  curve->reserved[part_] = std::max(curve->reserved[part_], event.pass);
  const uint64_t free = event.pass - std::min(event.pass, event.number);
  curve->unused[part_] = std::max(curve->unused[part_], free);
}

void TimelineDetails::note_peak() {
  for (DeviceCurve& curve : out_.curves) {
    if (curve.peak_events != events_) continue;
    if (questions_.categories) curve.at_peak = categories_.of(curve.device);
    const DeviceTotal& total = state_.devices[curve.device];
    curve.reserved_at_peak = total.allocator_reserved;
    curve.allocated_at_peak = total.allocator_allocated;
    curve.free_at_peak = free_memory(state_, curve.device);
    curve.free_at_peak.ns = curve.peak_ns;
    if (curve.device != out_.device) continue;
    for (auto& [site, row] : sites_) row.live_at_peak = 0;
    for (const auto& [serial, a] : state_.allocations) {
      if (a.device == out_.device) churn(a.site).live_at_peak += a.nbytes;
    }
    for (LineMemory& line : out_.lines) line.live_at_peak = line.live;
  }
}

SiteChurn& TimelineDetails::churn(uint32_t site) {
  SiteChurn& row = sites_[site];
  row.site = site;
  return row;
}

void TimelineDetails::count_lifetime(size_t at, uint64_t nbytes) {
  ++out_.lifetime_counts[at];
  out_.lifetime_bytes[at] += nbytes;
}

void TimelineDetails::begin_step(const format::RecordedEvent& event) {
  if (out_.steps_seen && event.number == step_.number) return;
  end_step(event.ns);
  out_.steps_seen = true;
  step_ = {};
  step_.number = event.number;
  step_.begin_ns = event.ns;
  step_.begin_live = step_.peak = live();
  step_.at_peak = categories_.of(out_.device);
}

void TimelineDetails::end_step(uint64_t ns) {
  if (!out_.steps_seen) return;
  step_.end_ns = std::max(ns, step_.begin_ns);
  step_.end_live = live();
  out_.steps.push_back(step_);
}

void TimelineDetails::add_to_lines(uint32_t site, uint64_t nbytes, bool more, bool made) {
  if (site >= questions_.lines.size()) return;
  for (uint32_t at : questions_.lines[site]) {
    LineMemory& line = out_.lines[at];
    line.live = more ? line.live + nbytes : line.live - std::min(line.live, nbytes);
    line.peak = std::max(line.peak, line.live);
    if (!made) continue;
    ++line.allocations;
    line.bytes += nbytes;
  }
}

void TimelineDetails::advance(uint64_t ns) {
  const size_t part = part_of(ns);
  if (part >= free_part_ + std::max<size_t>(1, parts_ / kFreeMoments)) {
    free_part_ = part;
    note_free_memory(ns);
  }
  for (; part_ < part; ++part_) {
    for (DeviceCurve& curve : out_.curves) {
      note_curve(curve);
      const DeviceTotal& total = state_.devices[curve.device];
      curve.highest[part_ + 1] = total.live_bytes;
      if (!curve.parts.empty()) curve.parts[part_ + 1] = categories_.of(curve.device);
      if (curve.reserved.empty()) continue;
      curve.reserved[part_ + 1] = total.allocator_reserved;
      curve.unused[part_ + 1] =
          total.allocator_reserved - std::min(total.allocator_reserved, total.allocator_allocated);
    }
  }
}

void TimelineDetails::note_curve(DeviceCurve& curve) {
  const uint64_t now = state_.devices[curve.device].live_bytes;
  if (now < curve.highest[part_]) return;
  const bool more = now > curve.highest[part_];
  curve.highest[part_] = now;
  if (!curve.parts.empty() && (more || curve.parts[part_].bytes != now))
    curve.parts[part_] = categories_.of(curve.device);
}

void TimelineDetails::note_free_memory(uint64_t ns) {
  for (DeviceCurve& curve : out_.curves) {
    FreeMemory found = free_memory(state_, curve.device);
    if (found.segments == 0 && curve.free_memory.empty()) continue;
    found.ns = ns;
    curve.free_memory.push_back(found);
  }
}

DeviceCurve* TimelineDetails::curve_of(Device device) {
  for (DeviceCurve& curve : out_.curves) {
    if (curve.device == device) return &curve;
  }
  return nullptr;
}

size_t TimelineDetails::part_of(uint64_t ns) const {
  const uint64_t length = std::max<uint64_t>(1, out_.end_ns - out_.begin_ns);
  const uint64_t past = std::min(length, ns - std::min(ns, out_.begin_ns));
  return std::min(parts_ - 1, size_t(static_cast<unsigned __int128>(past) * parts_ / length));
}

void TimelineDetails::finish(uint64_t end_ns) {
  advance(end_ns);
  end_step(end_ns);
  for (const auto& [serial, a] : state_.allocations) {
    if (a.device != out_.device) continue;
    churn(a.site).live_at_end += a.nbytes;
    count_lifetime(MemoryTimeline::kLifetimes - 1, a.nbytes);
  }
  for (const auto& [number, row] : sites_) out_.sites.push_back(row);
  std::sort(out_.sites.begin(), out_.sites.end(), [](const SiteChurn& a, const SiteChurn& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.site < b.site;
  });
}

bool SpikeContents::event(const format::RecordedEvent& event) {
  ++events_;
  if (event.type == format::EventType::allocated || event.type == format::EventType::freed) state_.apply(event);
  for (Spike& spike : spikes_) {
    if (spike.peak_events == events_) look(spike);
  }
  return events_ < last_;
}

void SpikeContents::look(Spike& spike) const {
  std::map<uint32_t, uint64_t> bytes;
  for (const auto& [serial, a] : state_.allocations) {
    if (a.device == device_ && a.created_ns >= spike.begin_ns) bytes[a.site] += a.nbytes;
  }
  spike.parts.clear();
  for (const auto& [site, sum] : bytes) spike.parts.push_back({site, sum});
  std::sort(spike.parts.begin(), spike.parts.end(), [](const Spike::Part& a, const Spike::Part& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.site < b.site;
  });
}

}  // namespace tensorscope::analyzer
