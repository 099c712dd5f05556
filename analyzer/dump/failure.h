// SPDX-License-Identifier: Apache-2.0
// A request for memory that failed, or a limit that came near: the FAIL chunk, checked.
#pragma once

#include <cstdint>
#include <string>

#include "dump/device.h"

namespace tensorscope::analyzer {

// 0 in numbers: not known.
struct Failure {
  uint8_t kind = 0;   // format::FailureKind
  uint8_t limit = 0;  // format::MemoryLimit
  Device device;      // of the request; the CPU for host memory
  uint64_t requested = 0;
  uint64_t allocator_allocated = 0, allocator_reserved = 0;
  uint64_t limit_bytes = 0, left_bytes = 0;  // left_bytes <= limit_bytes
  std::string error;
  uint32_t site = 0, thread = 0;
  uint64_t node_serial = 0;  // of the autograd node whose backward it was in, 0: none
  uint32_t node = kNone;     // the same as index into Dump::nodes; kNone: nobody saw it being made
  uint64_t failed_ns = 0;
  uint64_t failures = 0, without_dump = 0;
};

}  // namespace tensorscope::analyzer
