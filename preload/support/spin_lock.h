// A spin lock that gives up rather than hang the program: spins, then yields, then sleeps in short steps, and after
// about two seconds of waiting says no. The caller then records nothing any more (live/lock_failure.h).
//
// Context: hook, collector; not signal handlers. Not recursive. A constinit global: no constructor to run. The waiting
// time is the sum of this thread's own steps, each counted for at most 20 ms, so that a stopped or suspended process
// does not use the bound up. Works where the holder is preempted: on one processor, and below a real-time waiter.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorscope {

class SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  [[nodiscard]] bool try_lock() { return held_.exchange(1, std::memory_order_acquire) == 0; }
  // False: not had within the bound.
  [[nodiscard]] bool lock() { return __builtin_expect(try_lock(), true) || lock_slowly(kPatienceNs); }
  [[nodiscard]] bool lock_within(uint64_t patience_ns) { return try_lock() || lock_slowly(patience_ns); }
  void unlock() { held_.store(0, std::memory_order_release); }

  static constexpr uint64_t kPatienceNs = 2'000'000'000;

 private:
  bool lock_slowly(uint64_t patience_ns);

  std::atomic<uint32_t> held_{0};
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
