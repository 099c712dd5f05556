// SPDX-License-Identifier: Apache-2.0
// What is alive while a recording is replayed: objects, and the counters that a dump has of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dump/device.h"
#include "dump/dump.h"
#include "recording/recording_file.h"

namespace tensorscope::analyzer {

struct RecordedAllocation {
  uint64_t pointer = 0, nbytes = 0, created_ns = 0, node = 0;
  uint32_t site = 0, thread = 0;
  uint8_t kind = 0;
  bool inherited = false;
  Device device;
};

struct RecordedTensor {
  uint64_t address = 0, created_ns = 0;
  uint32_t site = 0, thread = 0;
  bool released = false;
};

// Memory of the device's runtime: a segment of torch's allocator, or what a library took.
struct RecordedBlock {
  uint64_t pointer = 0, nbytes = 0, created_ns = 0;
  uint32_t site = 0, thread = 0;
  uint8_t kind = 0;
  bool by_torch = false;
  Device device;
};

class LiveState {
 public:
  void begin(const format::RecordingSegment& segment);
  void add(const format::Allocation& row);
  void add(const format::Tensor& row);
  void add(const format::RuntimeBlock& row);
  // Returns false if what the event makes was alive when the segment began, or what it ends is not known.
  bool apply(const format::RecordedEvent& event);

  std::unordered_map<uint64_t, RecordedAllocation> allocations;  // by serial
  std::unordered_map<uint64_t, RecordedTensor> tensors;
  std::unordered_map<uint64_t, RecordedBlock> runtime_blocks;  // by serial
  std::unordered_map<uint32_t, Site> sites;                    // counters; stacks are not filled in
  std::map<Device, DeviceTotal> devices;
  uint64_t tensors_total = 0;
  uint64_t serial = 0;  // the newest
  uint64_t ns = 0;      // of the last event
  // Of the last event that freed something: what it was.
  std::optional<RecordedAllocation> freed;

 private:
  void allocated(uint64_t serial, const RecordedAllocation& made);
  void gone(uint64_t serial);

  uint64_t begin_serial_ = 0;
  std::unordered_set<uint64_t> early_frees_, early_ends_, early_blocks_;  // told before what they end
};

}  // namespace tensorscope::analyzer
