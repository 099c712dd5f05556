// SPDX-License-Identifier: Apache-2.0
#include "support/locks/spin_lock.h"

#include "support/spin_then_sleep.h"

namespace tensorscope {

bool SpinLock::was_of_parent(uint32_t word) const {
  if (!is_lock_of_parent(word)) return false;
  tell_lock_observer(this);
  return true;
}

bool SpinLock::lock_slowly(uint64_t patience_ns) {
  return spin_then_sleep_until(patience_ns, [this] {
    const uint32_t word = word_.load(std::memory_order_relaxed);
    return (word == free_lock_word() || is_lock_of_parent(word)) && try_lock();
  });
}

}  // namespace tensorscope
