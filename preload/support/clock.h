// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC in nanoseconds, in two grades.
//
// Context: any, signal handlers included. Both are read in user space (vdso).
#pragma once

#include <time.h>

#include <cstdint>

namespace tensorscope {

inline uint64_t read_clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

inline uint64_t monotonic_ns() { return read_clock_ns(CLOCK_MONOTONIC); }

// The same clock as of the last timer tick (1 to 10 ms ago, never ahead of monotonic_ns): 3 ns instead of 21 on the
// machine this was measured on, and no system call where the exact clock needs one. Ages need no more; order comes from
// serials.
inline uint64_t coarse_ns() { return read_clock_ns(CLOCK_MONOTONIC_COARSE); }

}  // namespace tensorscope
