// SPDX-License-Identifier: Apache-2.0
// A spin lock that gives up rather than hang the program: spins, then yields, then sleeps in short steps, and after
// about two seconds of waiting says no. The caller then records nothing any more (live/lock_failure.h).
//
// Context: hook, collector; not signal handlers. Not recursive. A constinit global: no constructor to run. How the time
// is counted: patience.h. A forked child finds it free (lock_word.h). Who only wants it if it is free, as a flag that
// says who does something, calls try_lock().
#pragma once

#include <atomic>
#include <cstdint>

#include "support/locks/lock_word.h"
#include "support/locks/thread_annotations.h"

namespace tensorscope {

class CAPABILITY("spin lock") SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  [[nodiscard, gnu::always_inline]] bool try_lock() TRY_ACQUIRE(true) {
    const uint32_t free = free_lock_word();
    const uint32_t word = word_.exchange(free | kLockHeld, std::memory_order_acquire);
    return __builtin_expect(word == free, true) || was_of_parent(word);
  }
  // False: not had within the bound.
  [[nodiscard, gnu::always_inline]] bool lock() TRY_ACQUIRE(true) { return lock_within(kPatienceNs); }
  [[nodiscard, gnu::always_inline]] bool lock_within(uint64_t patience_ns) TRY_ACQUIRE(true) {
    return __builtin_expect(try_lock(), true) || lock_slowly(patience_ns);
  }
  [[gnu::always_inline]] void unlock() RELEASE() { word_.store(free_lock_word(), std::memory_order_release); }

  static constexpr uint64_t kPatienceNs = 2'000'000'000;

 private:
  [[gnu::noinline]] bool lock_slowly(uint64_t patience_ns);
  // Of the word that was there.
  [[gnu::noinline]] bool was_of_parent(uint32_t word) const;

  std::atomic<uint32_t> word_{0};
};

// Holds the lock for a scope; false where it could not be had, and then what the lock guards must not be touched.
class SCOPED_CAPABILITY SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) ACQUIRE(lock) : lock_(lock), held_(lock.lock()) {}
  ~SpinGuard() RELEASE() {
    if (held_) lock_.unlock();
  }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;
  explicit operator bool() const { return held_; }

 private:
  SpinLock& lock_;
  bool held_;
};

}  // namespace tensorscope
