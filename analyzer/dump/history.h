// SPDX-License-Identifier: Apache-2.0
// The time before a dump: memory over the run in a few points, and what was alive at the highest peak.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/device.h"

namespace tensorscope::analyzer {

enum class MomentKind : uint8_t { step, second, dump };  // = format::

struct HistoryLevel {
  uint64_t live = 0, peak = 0, allocated = 0;  // bytes; peak: since the point before; allocated: so far
};

// One moment, or `moments` that follow each other; the levels are those of the last end of a step among them.
struct HistoryPoint {
  uint64_t ns = 0, step = 0;
  uint64_t resident = 0;  // bytes; 0: not known
  uint32_t moments = 0;
  MomentKind kind = MomentKind::second;
  uint8_t source = 0;  // format::StepSource
};

struct History {
  std::vector<Device> devices;
  std::vector<HistoryPoint> points;  // ascending in time; the last one is the dump; empty: there is no history
  std::vector<HistoryLevel> levels;  // of each point those of all devices
  uint32_t every = 1;                // moments a point; the last two may have fewer
  uint32_t devices_left_out = 0;

  bool present() const { return !points.empty(); }
  const HistoryLevel& level(size_t point, size_t device) const { return levels[point * devices.size() + device]; }
};

struct PeakDevice {
  Device device;
  uint64_t bytes = 0;
};
// Bytes of a site that were freed since; the rest is alive, or was freed in another way.
struct PeakGone {
  uint64_t before_backward = 0;  // in the step that made it; no backward pass had begun since
  uint64_t in_backward = 0;      // by a thread that was in a backward pass; made before that
  uint64_t later_step = 0;       // after the step that made it, by another thread than that
  uint64_t of_backward = 0;      // made in a backward pass, and freed by a thread that was in the same
  uint64_t after_backward = 0;   // made in a backward pass, and not freed in it
};
struct PeakSite {
  uint32_t site = 0;
  uint64_t bytes = 0, allocations = 0;
  PeakGone gone;
  bool has_nodes = false;  // an autograd node was made for a tensor of this site
};

// Of all devices together. It was kept when it was met, and again only when 1 % more was alive.
struct Peak {
  bool present = false;
  uint64_t ns = 0, step = 0;
  uint8_t source = 0;  // format::StepSource
  uint64_t bytes = 0;
  std::vector<PeakDevice> devices;
  std::vector<PeakSite> sites;  // the largest first
  uint32_t other_sites = 0;     // the rest, without rows
  uint64_t other_bytes = 0, other_allocations = 0;
};

}  // namespace tensorscope::analyzer
