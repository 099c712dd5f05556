// SPDX-License-Identifier: Apache-2.0
// The processor's own time counter: read in some 10 ns, turned into nanoseconds of the monotonic clock later, by who
// has read both clocks before and after.
//
// Context: any.
#pragma once

#include <cstdint>

#include "support/clock.h"

namespace tensorscope {

inline uint64_t read_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return monotonic_ns();
#endif
}

// The monotonic clock for ages, owned by one thread: coarse_ns() once the counter has gone on by some hundred
// microseconds, else what was read then. The counter is read without touching memory, which that clock does: after
// what torch runs between two events it is not in the nearest cache (docs/overhead.md).
class RecentClock {
 public:
  uint64_t ns() {
    const uint64_t ticks = read_ticks();
    if (__builtin_expect(ticks - ticks_ >= kRecent, false)) {
      ticks_ = ticks;
      ns_ = coarse_ns();
    }
    return ns_;
  }

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kRecent = uint64_t{1} << 20;  // of 1 to 5 GHz: 0.2 to 1 ms
#elif defined(__aarch64__)
  static constexpr uint64_t kRecent = uint64_t{1} << 14;  // of 24 MHz to 1 GHz: 0.02 to 0.7 ms
#else
  static constexpr uint64_t kRecent = 500'000;
#endif
  uint64_t ticks_ = 0, ns_ = 0;
};

// Two readings of both clocks, and a line through them. A counter that does not run evenly (it stops in deep sleep, or
// differs between processors) gives times that are off by as much, never outside the two readings.
class TickClock {
 public:
  // The later reading becomes the earlier one.
  void read() {
    ticks_[0] = ticks_[1];
    ns_[0] = ns_[1];
    ticks_[1] = read_ticks();
    ns_[1] = monotonic_ns();
  }
  // The earlier reading, made elsewhere.
  void begin(uint64_t ticks, uint64_t ns) {
    ticks_[1] = ticks;
    ns_[1] = ns;
  }
  uint64_t ns(uint64_t ticks) const {
    if (ticks >= ticks_[1] || ticks_[1] <= ticks_[0]) return ns_[1];
    if (ticks <= ticks_[0]) return ns_[0];
    const auto part = static_cast<unsigned __int128>(ticks - ticks_[0]) * (ns_[1] - ns_[0]);
    return ns_[0] + uint64_t(part / (ticks_[1] - ticks_[0]));
  }

 private:
  uint64_t ticks_[2] = {}, ns_[2] = {};
};

}  // namespace tensorscope
