// SPDX-License-Identifier: Apache-2.0
// Whose the memory is that CUPTI saw the driver give out: what torch's allocator and calls of the CUDA runtime explain,
// and what only CUPTI saw (NCCL, cuBLAS and others that call the driver themselves).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

enum class DriverShare : uint8_t {
  torch,    // a segment of torch's allocator, a pinned block of it
  runtime,  // another call of the CUDA runtime
  other     // nobody else reported it
};

struct DriverPart {
  uint64_t blocks = 0, bytes = 0;
};

struct DriverSums {
  Device device;  // the CPU: memory of the host
  DriverPart all;
  std::map<DriverShare, DriverPart> shares;
  std::map<uint8_t, DriverPart> kinds;  // format::DriverMemoryKind
};

// Of each block.
std::vector<DriverShare> driver_shares(const Dump& dump);

// By device.
std::vector<DriverSums> driver_sums(const Dump& dump, const std::vector<DriverShare>& shares);

// "device", "pinned", "managed", ...
const char* driver_kind_text(uint8_t kind);

// All rows together.
SiteLaunches launch_totals(const Dump& dump);

}  // namespace tensorscope::analyzer
