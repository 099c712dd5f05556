// Writes one dump: phase 1 (tables, stacks, metadata, totals; no GIL), phase 2 (names, with the GIL, with a time
// limit), the name of the file, and the line on standard error.
//
// Context: collector, or the thread that stands in for it. One at a time a process.
#pragma once

#include <limits.h>

#include <cstdint>

#include "collector/collector.h"
#include "dump/failure.h"

namespace tensorscope::collector {

struct DumpRequest {
  Reason reason = Reason::signal;
  const char* detail = "";
  uint64_t requested_ns = 0;
  const dump::Failure* failure = nullptr;  // of reasons out_of_memory and low_memory
  SiteId site = 0;                         // of the call that asked for it; 0: none, or not known
  bool by_file = false;                    // collector/request_file.h
  bool passing = false;                    // who asked removes it: nothing is said, and it is not counted
  bool names = true;                       // false: Python's objects are not looked at, and its lock is not taken
};

// False: nothing was written, and one line on standard error has said why. `path` receives the dump's path.
bool write_dump(const DumpRequest& request, char (&path)[PATH_MAX]);

}  // namespace tensorscope::collector
