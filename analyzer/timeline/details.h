// SPDX-License-Identifier: Apache-2.0
// The second look at a recording: curves, steps, sites, lines, lifetimes and spikes, most of it of the timeline's
// device.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "recording/live_state.h"
#include "timeline/category_curve.h"
#include "timeline/memory_timeline.h"
#include "timeline/overview.h"
#include "timeline/spike_finder.h"

namespace tensorscope::analyzer {

class TimelineDetails : public RecordingVisitor {
 public:
  TimelineDetails(MemoryTimeline& out, size_t parts, const TimelineQuestions& questions, const RunLives& lives);

  void segment(const format::RecordingSegment& segment) override;
  void live_allocation(const format::Allocation& row) override;
  void live_runtime_block(const format::RuntimeBlock& row) override { state_.add(row); }
  bool event(const format::RecordedEvent& event) override;
  void finish(uint64_t end_ns);

 private:
  SiteChurn& churn(uint32_t site);
  void count_lifetime(size_t at, uint64_t nbytes);
  uint64_t live() { return state_.devices[out_.device].live_bytes; }
  void allocated(const format::RecordedEvent& event);
  void freed(const format::RecordedEvent& event);
  void reported(const format::RecordedEvent& event);
  void note_peak();
  void begin_step(const format::RecordedEvent& event);
  void end_step(uint64_t ns);
  void add_to_lines(uint32_t site, uint64_t nbytes, bool more, bool made);
  // A curve's parts up to this time hold what is live now.
  void advance(uint64_t ns);
  void note_curve(DeviceCurve& curve);
  void note_free_memory(uint64_t ns);
  DeviceCurve* curve_of(Device device);
  size_t part_of(uint64_t ns) const;

  MemoryTimeline& out_;
  const TimelineQuestions& questions_;
  LiveState state_;
  LiveCategories categories_;
  SpikeFinder spikes_;
  std::unordered_map<uint32_t, SiteChurn> sites_;
  StepRow step_;
  const size_t parts_;
  size_t part_ = 0, free_part_ = 0;  // free_part_: of the last look at free memory
  uint64_t events_ = 0;
};

// The third: what the spikes consist of.
class SpikeContents : public RecordingVisitor {
 public:
  SpikeContents(std::vector<Spike>& spikes, Device device) : spikes_(spikes), device_(device) {
    for (const Spike& spike : spikes) last_ = std::max(last_, spike.peak_events);
  }
  void segment(const format::RecordingSegment& segment) override { state_.begin(segment); }
  void live_allocation(const format::Allocation& row) override { state_.add(row); }
  bool event(const format::RecordedEvent& event) override;

 private:
  void look(Spike& spike) const;

  std::vector<Spike>& spikes_;
  const Device device_;
  LiveState state_;
  uint64_t events_ = 0, last_ = 0;  // last_: what comes later is not looked at
};

}  // namespace tensorscope::analyzer
