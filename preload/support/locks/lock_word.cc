// SPDX-License-Identifier: Apache-2.0
#include "support/locks/lock_word.h"

namespace tensorscope {

constinit std::atomic<uint32_t> g_lock_generation{0};

namespace {
constinit std::atomic<LockObserver> g_observer{nullptr};
}  // namespace

void forget_locks_in_child() { g_lock_generation.fetch_add(kLockGenerationStep, std::memory_order_relaxed); }

void set_lock_observer_for_test(LockObserver observer) { g_observer.store(observer); }

void tell_lock_observer(const void* lock) {
  if (const LockObserver observer = g_observer.load(std::memory_order_relaxed)) observer(lock);
}

}  // namespace tensorscope
