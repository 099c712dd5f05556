// SPDX-License-Identifier: Apache-2.0
// How many child processes this process has, and their memory; and that of their children.
//
// Context: collector.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "support/clock.h"

namespace tensorscope::dump {

struct ChildProcesses {
  bool known = true;  // false: this kernel lists no children, and there was no time to look at each process
  uint32_t count = 0;
  uint64_t resident = 0;       // bytes; memory that they share with each other is in it once for each
  uint64_t private_bytes = 0;  // pages that nobody shares with them; 0 if one did not report, or it took long
};

struct MemoryOfProcess {
  uint64_t resident = 0;
  uint64_t private_bytes = 0;
  uint64_t shared_anonymous = 0;  // becomes private where the process or its parent writes to it
  // By how much it grew since then: of both the smaller growth. A page that a forked child writes to becomes private
  // and was resident before; a page of a file that is read becomes resident and is not private.
  uint64_t growth_since(const MemoryOfProcess& before) const;
};
// `process`: a folder below `proc`. False: not known.
bool read_memory_of(const char* process, MemoryOfProcess& memory, const char* proc = "/proc");

// A child, or a child of one.
struct Descendant {
  pid_t pid = 0;
  uint64_t started = 0;  // with the pid it is this process and no other: field 22 of /proc/PID/stat
  MemoryOfProcess memory;
};
struct Descendants {
  static constexpr size_t kMax = 512;
  size_t count = 0;
  Descendant all[kMax];
};

// The times that limit the work: of this thread's processor, and by the clock. A test brings its own.
struct WorkClocks {
  uint64_t (*processor_ns)() = [] { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); };
  uint64_t (*wall_ns)() = monotonic_ns;
};

// `descendants`: as many as there is time and place for, the children first; null: not wanted. Where a kernel lists no
// children, there are the children alone. `proc`: the folder of a procfs in which `self` is process `pid`.
ChildProcesses read_child_processes(Descendants* descendants = nullptr, const char* proc = "/proc",
                                    pid_t pid = getpid(), const WorkClocks& clocks = {});

}  // namespace tensorscope::dump
