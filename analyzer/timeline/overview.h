// SPDX-License-Identifier: Apache-2.0
// The first look at a recording: how long, which devices, where their peaks are, how allocations ended.
#pragma once

#include <map>

#include "recording/live_state.h"
#include "timeline/memory_timeline.h"
#include "timeline/run_lives.h"
#include "values_generated.h"

namespace tensorscope::analyzer {

inline bool begins_step(const format::RecordedEvent& event) {
  return event.type == format::EventType::step && event.mode != uint8_t(format::StepMode::eval);
}

class TimelineOverview : public RecordingVisitor {
 public:
  explicit TimelineOverview(MemoryTimeline& out) : out_(out) {}

  bool table(const ChunkView& chunk) override;
  void segment(const format::RecordingSegment& segment) override;
  void live_allocation(const format::Allocation& row) override { state_.add(row); }
  bool event(const format::RecordedEvent& event) override;
  void finish();

  const RunLives& lives() const { return lives_; }

 private:
  void note(Device device, uint64_t bytes, uint64_t ns);

  MemoryTimeline& out_;
  LiveState state_;
  RunLives lives_;
  std::map<Device, DeviceCurve> curves_;
  uint64_t events_ = 0, step_ = 0;
};

}  // namespace tensorscope::analyzer
