// A recording over time: live bytes of each device, its peak, steps, what sites allocate and for how long, spikes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "dump/device.h"
#include "recording/recording_file.h"

namespace tensorscope::analyzer {

struct DeviceCurve {
  Device device;
  // Of each of equal parts of the recording's time: the most that was live in it.
  std::vector<uint64_t> highest;
  uint64_t peak_bytes = 0, peak_ns = 0, peak_events = 0;
  uint64_t peak_step = 0;
  uint64_t end_bytes = 0;
  uint64_t reserved_peak = 0;  // as the device's allocator said
};

struct StepRow {
  uint64_t number = 0;
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t allocations = 0, bytes = 0;              // made in it
  uint64_t begin_live = 0, end_live = 0, peak = 0;  // bytes of the timeline's device
};

struct SiteChurn {
  uint32_t site = 0;
  uint64_t allocations = 0, bytes = 0;  // made in all
  uint64_t live_at_peak = 0;            // bytes of the timeline's device
  uint64_t live_at_end = 0;
  uint64_t short_lived = 0;  // bytes of those that were freed within their step, or within 10 ms
};

// For a moment more was live than before and after it.
struct Spike {
  uint64_t begin_ns = 0, end_ns = 0, peak_ns = 0, peak_events = 0;
  uint64_t bytes = 0;  // above the higher of its two sides
  uint64_t step = 0;
  uint32_t site = 0;  // that allocated the most of it
};

struct MemoryTimeline {
  uint64_t start_ns = 0;              // of the process
  uint64_t begin_ns = 0, end_ns = 0;  // of the recording
  uint64_t events = 0, lost = 0, late = 0;
  uint32_t segments = 0;
  bool ended = false;
  std::vector<std::string> problems;
  Device device;  // what steps, sites and spikes are of: the device with the highest peak, the CPU where no other is
  std::vector<DeviceCurve> curves;
  bool steps_seen = false;
  std::vector<StepRow> steps;
  std::vector<SiteChurn> sites;  // by bytes, most first
  // Freed allocations by how long they lived: < 1 ms, 10 ms, 100 ms, 1 s, 10 s, longer; then those that are not freed.
  static constexpr size_t kLifetimes = 7;
  uint64_t lifetime_counts[kLifetimes] = {}, lifetime_bytes[kLifetimes] = {};
  std::vector<Spike> spikes;  // the highest first

  const DeviceCurve* curve() const;  // of `device`; null: nothing was allocated
};

// Two looks at the file. `parts`: points of a curve.
MemoryTimeline read_timeline(const RecordingFile& file, size_t parts);

// Steps that allocate more than their neighbours or have a higher peak: by 10 % at the least of the median of the eight
// around them. Indices into `steps`.
std::vector<size_t> unusual_steps(const std::vector<StepRow>& steps);

}  // namespace tensorscope::analyzer
