// SPDX-License-Identifier: Apache-2.0
// The memories of a dump as PyTorch's memory viewer numbers devices: 0 to n-1 the CUDA devices, n the CPU, then what
// the viewer has no word for and a dump knows: other kinds of device, page-locked host memory, and what others than
// torch took from the CUDA runtime on each device.
//
// Segments that torch's allocator told are as it told them. Where there are none (the CPU, no caching,
// cudaMallocAsync), every block is a segment of its own, so that nothing is called free that the allocator cannot hand
// out.
//
// One device is built at a time; what is kept are indexes. Units: bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::exports {

struct VizBlock {
  uint64_t address = 0, size = 0, requested = 0;
  uint8_t state = 0;  // format::BlockState
  uint32_t site = 0;
  uint32_t allocation = analyzer::kNone;  // index into Dump::allocations
  uint64_t created_ns = 0, serial = 0;    // 0: not known
};

struct VizSegment {
  uint64_t address = 0, size = 0;
  uint64_t stream = 0, pool = 0, pool_user = 0;
  bool small = false, expandable = false;
  uint32_t site = 0;
  uint64_t created_ns = 0, serial = 0;  // 0: not known
  size_t first_block = 0, block_count = 0;
};

struct VizDevice {
  std::vector<VizSegment> segments;
  std::vector<VizBlock> blocks;  // those of the first segment, then of the second, ...; no holes
};

class VizDevices {
 public:
  explicit VizDevices(const analyzer::Dump& dump);

  size_t size() const { return parts_.size(); }
  const std::string& name(size_t number) const { return parts_[number].name; }  // "cuda:0", "cpu", ...
  VizDevice build(size_t number) const;
  // Of the failure that the dump was made for; kNone where none of these failed.
  uint32_t failed() const;
  const analyzer::DeviceMemory* memory(size_t number) const;

 private:
  enum class Kind : uint8_t { allocator, pinned, outside };
  struct Origin {
    Kind kind = Kind::allocator;
    analyzer::Device device;
    std::string name;
    std::vector<uint32_t> rows;  // of Dump::allocations, or of Dump::runtime_blocks
  };
  Origin& part(Kind kind, analyzer::Device device);
  void add_segments(const Origin& part, const analyzer::DeviceMemory& memory, VizDevice& out) const;

  const analyzer::Dump& dump_;
  std::vector<Origin> parts_;
  std::map<std::pair<Kind, analyzer::Device>, size_t> numbers_;
};

}  // namespace tensorscope::exports
