// SPDX-License-Identifier: Apache-2.0
// Sleeping on a word of memory, and waking who sleeps there. Within one process, but for those that are called shared.
//
// Context: any, signal handlers included. errno is left as it was.
#pragma once

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "support/clock.h"

namespace tensorscope {

constexpr timespec timespec_of_ns(uint64_t ns) { return {time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)}; }

// Returns when somebody wakes, when the word is not `value`, after `at_most`, or without a reason.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t value, const timespec* at_most = nullptr) {
  const int saved_errno = errno;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, at_most, nullptr, 0);
  errno = saved_errno;
}

// The same, until monotonic_ns() is `until_ns`. False: it is, and nobody was waited for.
inline bool futex_wait_until(std::atomic<uint32_t>& word, uint32_t value, uint64_t until_ns) {
  const uint64_t now = monotonic_ns();
  if (now >= until_ns) return false;
  const timespec left = timespec_of_ns(until_ns - now);
  futex_wait(word, value, &left);
  return true;
}

inline void futex_wake(std::atomic<uint32_t>& word, int most = INT_MAX) {
  const int saved_errno = errno;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
  errno = saved_errno;
}

// The same for a word that several processes have in their memory.
inline void futex_wait_shared(std::atomic<uint32_t>& word, uint32_t value, const timespec* at_most = nullptr) {
  const int saved_errno = errno;
  syscall(SYS_futex, &word, FUTEX_WAIT, value, at_most, nullptr, 0);
  errno = saved_errno;
}

inline void futex_change_and_wake_shared(std::atomic<uint32_t>& word) {
  const int saved_errno = errno;
  word.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  errno = saved_errno;
}

inline void futex_change_and_wake(std::atomic<uint32_t>& word) {
  word.fetch_add(1, std::memory_order_release);
  futex_wake(word);
}

}  // namespace tensorscope
