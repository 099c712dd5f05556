// SPDX-License-Identifier: Apache-2.0
// The memory of one device as its driver and torch's allocator report it (DEVM), and blocks of the CUDA runtime
// (RUNT). A Dump that was read is consistent: blocks lie inside their segment, in ascending order and without overlap,
// allocated <= active <= size of a segment, and sums over all of them fit a signed 64-bit number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump/device.h"

namespace tensorscope::analyzer {

struct SegmentBlock {
  uint64_t address = 0, size = 0;
  uint64_t requested = 0;  // 0: not known
  uint8_t state = 0;       // format::BlockState
};

struct Segment {
  uint64_t address = 0, size = 0;
  uint64_t allocated = 0;  // in blocks that are in use
  uint64_t active = 0;     // the same, and blocks that are freed but wait for a stream
  uint64_t requested = 0;  // 0: not known
  uint64_t stream = 0;
  uint64_t pool = 0, pool_user = 0;  // the two numbers of a private pool's id; both 0: the common pool
  bool small = false, expandable = false;
  uint32_t first_block = 0, block_count = 0;
  bool private_pool() const { return pool != 0 || pool_user != 0; }
  uint64_t free() const { return size - active; }
};

struct DeviceProcess {
  uint32_t pid = 0;
  std::optional<uint64_t> bytes;  // none: the driver does not report
};

struct DeviceMemory {
  Device device;
  std::string name, backend, settings;
  uint64_t driver_total = 0, driver_free = 0;  // total 0: neither is known
  uint64_t own_bytes = 0;                      // of this process; 0: not known
  std::vector<DeviceProcess> processes;        // the others
  std::string driver_detail;
  std::vector<Segment> segments;
  std::vector<SegmentBlock> blocks;
  uint8_t segments_from = 0;  // format::SegmentSource
  std::string segments_detail;
  uint64_t looked_ns = 0;

  std::span<const SegmentBlock> blocks_of(const Segment& segment) const {
    return {blocks.data() + segment.first_block, segment.block_count};
  }
};

struct RuntimeBlock {
  uint64_t serial = 0, pointer = 0, nbytes = 0, created_ns = 0;
  uint32_t site = 0, thread = 0;
  uint8_t kind = 0;  // format::RuntimeKind
  bool by_torch = false;
  Device device;                   // the CPU for pinned and registered memory
  std::vector<uint32_t> storages;  // indexes of those that lie in it and in no allocation of torch's
};

}  // namespace tensorscope::analyzer
