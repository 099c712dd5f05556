// SPDX-License-Identifier: Apache-2.0
// How many child processes this process has, and their memory.
//
// Context: collector.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "support/clock.h"

namespace tensorscope::dump {

struct ChildProcesses {
  bool known = true;  // false: this kernel lists no children, and there was no time to look at each process
  uint32_t count = 0;
  uint64_t resident = 0;       // bytes; memory that they share with each other is in it once for each
  uint64_t private_bytes = 0;  // pages that nobody shares with them; 0 if one did not report, or it took long
};

// The times that limit the work: of this thread's processor, and by the clock. A test brings its own.
struct WorkClocks {
  uint64_t (*processor_ns)() = [] { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); };
  uint64_t (*wall_ns)() = monotonic_ns;
};

// `proc`: the folder of a procfs in which `self` is process `pid`.
ChildProcesses read_child_processes(const char* proc = "/proc", pid_t pid = getpid(), const WorkClocks& clocks = {});

}  // namespace tensorscope::dump
