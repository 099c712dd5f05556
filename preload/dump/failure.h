// SPDX-License-Identifier: Apache-2.0
// What is known of a request for memory that failed, or of a limit that is near: the FAIL chunk, and what the short
// report on standard error says first.
//
// Context: filled by the failing thread, read by the collector while that thread waits.
#pragma once

#include <cstdint>

#include "support/ids.h"
#include "support/system_limits.h"

namespace tensorscope::dump {

enum class Kind : uint8_t { unknown = 0, device = 1, host = 2, pinned = 3, low_memory = 4 };  // = format::FailureKind

struct Failure {
  Kind kind = Kind::unknown;
  SystemLimit limit = SystemLimit::none;
  Device device;
  uint64_t requested = 0;  // bytes, as the allocator rounded them; 0: not known
  uint64_t allocator_allocated = 0, allocator_reserved = 0;
  uint64_t limit_bytes = 0, left_bytes = 0;  // 0: not known
  const char* error = "";                    // lives as long as the failure
  SiteId site = 0;
  ThreadId thread = 0;
  Serial node = 0;  // of the autograd node that runs, 0: none
  uint64_t failed_ns = 0;
  uint64_t failures = 0, without_dump = 0;  // in this process so far
};

}  // namespace tensorscope::dump
