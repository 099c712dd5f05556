// SPDX-License-Identifier: Apache-2.0
// What is wanted of a dump: why it is written, who asked for it and when.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/wake.h"
#include "dump/failure.h"
#include "dump/reason.h"
#include "support/ids.h"

namespace tensorscope::collector {

using dump::Reason;

struct DumpRequest {
  Reason reason = Reason::signal;
  const char* detail = "";
  uint64_t requested_ns = 0;
  const dump::Failure* failure = nullptr;    // of reasons out_of_memory and low_memory
  SiteId site = 0;                           // of the call that asked for it; 0: none, or not known
  bool by_file = false;                      // collector/request_file.h
  const DumpOfAncestor* ancestor = nullptr;  // whose dump this one goes with, and who asked for it
  bool passing = false;                      // who asked removes it: nothing is said, and it is not counted
  bool names = true;                         // false: Python's objects are not looked at, and its lock is not taken
};

}  // namespace tensorscope::collector
