// SPDX-License-Identifier: Apache-2.0
#include "support/ended_threads.h"

#include <errno.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <iterator>

#include "support/clock.h"
#include "support/locks/futex.h"

namespace tensorscope {

namespace {

constexpr uint32_t kPatienceMs = 1000;

// A thread's number and when it ended, in one word so that neither is read without the other. A forked child may keep
// the words: a number that is no thread of this process is a thread that is gone.
struct alignas(uint64_t) End {  // clang calls libatomic where the parts alone decide the alignment
  uint32_t thread;
  uint32_t ms;
};
constinit std::atomic<End> g_ends[16]{};
constinit std::atomic<uint32_t> g_next{0};
static_assert(std::atomic<End>::is_always_lock_free);

uint32_t now_ms() { return uint32_t(monotonic_ns() / 1'000'000); }

// The clock of a thread's processor time, as glibc's pthread_getcpuclockid() makes it (Linux: posix-timers_types.h).
// The kernel forgets the clock and the count in one step (release_task).
bool counts(uint32_t thread) {
  constexpr uint32_t kOfThread = 4, kProcessorTime = 2;
  const auto clock = clockid_t(~thread << 3 | kOfThread | kProcessorTime);
  timespec time;
  return clock_gettime(clock, &time) == 0;
}

void wait_for(End end) {
  constexpr timespec kPause = {0, 50'000};
  std::atomic<uint32_t> never{0};
  while (counts(end.thread) && now_ms() - end.ms < kPatienceMs) futex_wait(never, 0, &kPause);
}

}  // namespace

void note_thread_end(pid_t thread) {
  const uint32_t place = g_next.fetch_add(1, std::memory_order_relaxed) % std::size(g_ends);
  g_ends[place].store({uint32_t(thread), now_ms()}, std::memory_order_release);
}

void wait_until_ended_threads_are_gone() {
  const int saved_errno = errno;
  for (std::atomic<End>& place : g_ends) {
    End end = place.load(std::memory_order_acquire);
    if (end.thread == 0) continue;
    wait_for(end);
    place.compare_exchange_strong(end, End{}, std::memory_order_acq_rel);
  }
  errno = saved_errno;
}

}  // namespace tensorscope
