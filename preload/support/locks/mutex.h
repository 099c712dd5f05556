// SPDX-License-Identifier: Apache-2.0
// A lock whose waiters sleep, for the profiler's own threads and for threads of the program that wait for one of them.
//
// Context: any thread, no hook; signal handlers only with all signals blocked while it is held, and where no holder
// ever waits for anything. Not recursive. Constinit, four bytes, no destructor. A forked child finds it free
// (lock_word.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "support/locks/lock_word.h"
#include "support/locks/thread_annotations.h"

namespace tensorscope {

class CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ACQUIRE() { (void)lock_within(UINT64_MAX); }
  // False: not had within so many nanoseconds.
  [[nodiscard]] bool lock_within(uint64_t patience_ns) TRY_ACQUIRE(true);
  void unlock() RELEASE();

 private:
  bool take(uint32_t word, uint32_t held);

  std::atomic<uint32_t> word_{0};
};

class SCOPED_CAPABILITY MutexGuard {
 public:
  explicit MutexGuard(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexGuard() RELEASE() { mutex_.unlock(); }
  MutexGuard(const MutexGuard&) = delete;
  MutexGuard& operator=(const MutexGuard&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace tensorscope
