// SPDX-License-Identifier: Apache-2.0
#include "timeline/overview.h"

#include <algorithm>

#include "dump/chunk_root.h"

namespace tensorscope::analyzer {

bool TimelineOverview::table(const ChunkView& chunk) {
  if (chunk.type != format::kProcess) return true;
  const auto* process = chunk_root<format::Process>(chunk);
  if (process) out_.start_ns = process->start_ns();
  return process != nullptr;
}

void TimelineOverview::segment(const format::RecordingSegment& segment) {
  if (out_.segments++ == 0) {
    out_.begin_ns = segment.begin_ns();
    out_.is_last_part = segment.reason() == format::SegmentReason::window;
  }
  out_.lost += segment.lost();
  state_.begin(segment);
  for (const auto& [device, total] : state_.devices) note(device, total.live_bytes, segment.begin_ns());
}

bool TimelineOverview::event(const format::RecordedEvent& event) {
  ++events_;
  lives_.note(event);
  if (begins_step(event)) step_ = event.number;
  const bool reported = event.type == format::EventType::device_reported;
  if (!reported && event.type != format::EventType::allocated && event.type != format::EventType::freed) return true;
  if (!state_.apply(event)) return true;
  const bool freed = event.type == format::EventType::freed;
  if (freed) lives_.freed(event.serial);
  const Device device = freed ? state_.freed->device : device_of(event.device_type, event.device_index);
  note(device, state_.devices[device].live_bytes, event.ns);
  if (reported) curves_[device].reserved_peak = std::max(curves_[device].reserved_peak, event.pass);
  return true;
}

void TimelineOverview::note(Device device, uint64_t bytes, uint64_t ns) {
  DeviceCurve& curve = curves_[device];
  if (bytes <= curve.peak_bytes) return;
  curve.peak_bytes = bytes;
  curve.peak_ns = ns;
  curve.peak_events = events_;
  curve.peak_step = step_;
}

void TimelineOverview::finish() {
  for (auto& [device, curve] : curves_) {
    curve.device = device;
    curve.end_bytes = state_.devices[device].live_bytes;
    out_.curves.push_back(curve);
  }
  const DeviceCurve* most = nullptr;
  for (const DeviceCurve& curve : out_.curves) {
    if (curve.peak_bytes == 0 || (most && curve.device.is_cpu())) continue;
    if (!most || most->device.is_cpu() || curve.peak_bytes > most->peak_bytes) most = &curve;
  }
  out_.device = most ? most->device : kHost;
}

}  // namespace tensorscope::analyzer
