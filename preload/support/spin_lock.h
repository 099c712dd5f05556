// A spin lock that gives up rather than hang the program: spins, then yields, then sleeps in short steps, and after
// about two seconds of waiting says no. The caller then records nothing any more (live/lock_failure.h).
//
// Context: hook, collector; not signal handlers. Not recursive. A constinit global: no constructor to run. How the time
// is counted: patience.h. A forked child finds it free (lock_word.h). Who only wants it if it is free, as a flag that
// says who does something, calls try_lock().
#pragma once

#include <atomic>
#include <cstdint>

#include "support/lock_word.h"

namespace tensorscope {

class SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  [[nodiscard]] bool try_lock() {
    const uint32_t free = free_lock_word();
    const uint32_t word = word_.exchange(free | kLockHeld, std::memory_order_acquire);
    return __builtin_expect(word == free, true) || (word != (free | kLockHeld) && taken_from_parent());
  }
  // False: not had within the bound.
  [[nodiscard]] bool lock() { return __builtin_expect(try_lock(), true) || lock_slowly(kPatienceNs); }
  [[nodiscard]] bool lock_within(uint64_t patience_ns) { return try_lock() || lock_slowly(patience_ns); }
  void unlock() { word_.store(free_lock_word(), std::memory_order_release); }

  static constexpr uint64_t kPatienceNs = 2'000'000'000;

 private:
  bool lock_slowly(uint64_t patience_ns);
  bool taken_from_parent() const;

  std::atomic<uint32_t> word_{0};
};

// Holds the lock for a scope; false where it could not be had, and then what the lock guards must not be touched.
class SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) : lock_(lock), held_(lock.lock()) {}
  ~SpinGuard() {
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
