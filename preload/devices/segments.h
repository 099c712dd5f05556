// SPDX-License-Identifier: Apache-2.0
// Segments of device memory that torch's allocator took from the runtime, and the blocks that it cut them into: rows of
// the DEVM chunk.
//
// Context: filled with the GIL from torch's own snapshot, or derived by the collector; written by the collector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "live/snapshot_view.h"

namespace tensorscope::devices {

struct DeviceSegments {
  int8_t device = -1;  // index
  std::vector<format::Segment> segments;
  std::vector<format::SegmentBlock> blocks;  // of the first segment, then of the second, ...
};

// What torch's allocator says of itself.
struct AllocatorSnapshot {
  bool complete = false;    // `devices` is what torch told; a device that is not there has no segment
  const char* detail = "";  // why not; a literal
  std::string backend;      // "native", "cudaMallocAsync", ...; "": not known
  uint64_t looked_ns = 0;
  std::vector<DeviceSegments> devices;

  DeviceSegments& of(int8_t device) {
    for (DeviceSegments& known : devices) {
      if (known.device == device) return known;
    }
    devices.push_back({device, {}, {}});
    return devices.back();
  }
};

// From the runtime's blocks that torch's allocator asked for and the blocks that it reported: no streams, no pools, and
// what waits for a stream counts as free. `outside`: bytes of reported blocks that lie in no such segment.
DeviceSegments derive_segments(const live::SnapshotView& view, Device device, uint64_t& outside);

}  // namespace tensorscope::devices
