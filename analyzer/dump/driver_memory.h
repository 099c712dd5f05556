// SPDX-License-Identifier: Apache-2.0
// What CUPTI reported of the process (CUPM, KERN): memory that the driver has allocated for any caller, and what every
// site in the program has started on devices. A Dump that was read is consistent: blocks are by address (0: mapped
// nowhere), each address once, and sums over all rows fit a signed 64-bit number.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/device.h"
#include "tensorscope/rules/launch_sums.h"

namespace tensorscope::analyzer {

struct DriverBlock {
  uint64_t pointer = 0, nbytes = 0, created_ns = 0;
  uint32_t process = 0, context = 0, stream = 0;  // as CUPTI numbers them
  uint32_t site = 0;
  uint8_t kind = 0;  // format::DriverMemoryKind
  bool asynchronous = false;
  Device device;  // the CPU for memory of the host
};

struct DriverMemory {
  bool present = false;  // CUPTI was switched on, and answered
  std::vector<DriverBlock> blocks;
  uint64_t began_ns = 0, ended_ns = 0;  // ended 0: not before the dump
  uint64_t allocations = 0, releases = 0, unknown_releases = 0, lost = 0;
  uint32_t version = 0;
  bool flushed = false;
};

struct SiteLaunches : rules::LaunchSums {
  uint32_t site = 0;

  uint64_t device_ns() const { return kernel_ns + copy_ns + fill_ns; }
};

}  // namespace tensorscope::analyzer
