// SPDX-License-Identifier: Apache-2.0
// What the driver reports about one CUDA device (devices/driver.h asks it, in part through NVML, devices/nvml.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::devices {

struct DriverFacts {
  static constexpr size_t kMaxProcesses = 256;
  struct Process {
    uint32_t pid;
    uint64_t bytes;  // UINT64_MAX: the driver does not report
  };
  int8_t device;   // index as the CUDA runtime of this process counts
  char name[96];   // "": not known
  uint64_t total;  // bytes; 0: not known
  uint64_t free;
  uint64_t own;  // of this process; 0: not known
  size_t processes_count;
  Process processes[kMaxProcesses];  // the others
  char detail[256];                  // why something of this is not known; "": everything is
};

}  // namespace tensorscope::devices
