// SPDX-License-Identifier: Apache-2.0
#include "support/spin_then_sleep.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include <algorithm>

#include "support/clock.h"

namespace tensorscope {

namespace {

constexpr int kSpins = 200;  // a holder that runs is done within a microsecond
constexpr int kYields = 50;  // a preempted holder on this processor
constexpr long kSleepNs = 50'000;
constexpr uint64_t kLongestStepNs = 20'000'000;

inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool spin_then_sleep_until(uint64_t patience_ns, FunctionRef<bool()> condition) {
  for (int i = 0; i < kSpins; ++i) {
    if (condition()) return true;
    pause_processor();
  }
  const int saved_errno = errno;
  uint64_t waited = 0;
  uint64_t before = monotonic_ns();
  bool here = false;
  for (int step = 0; !here && waited < patience_ns; ++step) {
    if (step < kYields) {
      sched_yield();
    } else {
      const timespec nap{0, kSleepNs};
      nanosleep(&nap, nullptr);
    }
    const uint64_t now = monotonic_ns();
    waited += std::min(now - before, kLongestStepNs);
    before = now;
    here = condition();
  }
  errno = saved_errno;
  return here;
}

}  // namespace tensorscope
