// SPDX-License-Identifier: Apache-2.0
#include "support/locks/mutex.h"

#include "support/clock.h"
#include "support/locks/futex.h"

namespace tensorscope {

// False: the word has changed meanwhile, or it says that the lock is held.
bool Mutex::take(uint32_t word, uint32_t held) {
  const bool of_parent = is_lock_of_parent(word);
  if (!of_parent && word != free_lock_word()) return false;
  if (!word_.compare_exchange_strong(word, free_lock_word() | held, std::memory_order_acquire)) return false;
  if (of_parent) tell_lock_observer(this);
  return true;
}

bool Mutex::lock_within(uint64_t patience_ns) {
  uint32_t held = kLockHeld;
  uint64_t until = 0;
  for (;;) {
    uint32_t word = word_.load(std::memory_order_relaxed);
    if (take(word, held)) return true;
    if (is_lock_of_parent(word) || word == free_lock_word()) continue;
    const uint32_t waited_for = word | kLockWaitedFor;
    if (word != waited_for && !word_.compare_exchange_strong(word, waited_for, std::memory_order_relaxed)) continue;
    held = kLockHeld | kLockWaitedFor;  // there may be other waiters: who unlocks wakes one of them
    if (patience_ns == UINT64_MAX) {
      futex_wait(word_, waited_for);
      continue;
    }
    if (until == 0) until = monotonic_ns() + patience_ns;
    if (!futex_wait_until(word_, waited_for, until)) return false;
  }
}

void Mutex::unlock() {
  if (word_.exchange(free_lock_word(), std::memory_order_release) & kLockWaitedFor) futex_wake(word_, 1);
}

}  // namespace tensorscope
