// SPDX-License-Identifier: Apache-2.0
// What every lock of the preload is made of: one word that says whether it is held, and in which process.
//
// A fork copies the locks of the other threads as they are, and those threads are not in the child to unlock them. So a
// lock's word also holds a generation that forget_locks_in_child() changes: a word of an earlier generation is a free
// lock. One store frees every lock there is, and no list has to name them. All locks are of the types made here
// (SpinLock, Mutex, LoaderWalk); tests/unit/preload/support/lock_types_test.cc checks that there is no other.
//
// Context: any, signal handlers included. The word of a lock that nobody has used is zero, so a constinit one needs no
// memory in the file.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorscope {

inline constexpr uint32_t kLockHeld = 1;
inline constexpr uint32_t kLockWaitedFor = 2;  // Mutex only
inline constexpr uint32_t kLockGenerationStep = 4;

extern constinit std::atomic<uint32_t> g_lock_generation;

// The word of a free lock of this process.
inline uint32_t free_lock_word() { return g_lock_generation.load(std::memory_order_relaxed); }
inline bool is_lock_of_parent(uint32_t word) { return ((word ^ free_lock_word()) & ~(kLockGenerationStep - 1)) != 0; }

// Context: fork child, before anything else of the profiler runs there: one thread, which holds no lock it still needs.
void forget_locks_in_child();

// For tests: called by whoever takes a lock for the first time since the last forget_locks_in_child(), with the lock
// held. Null: nobody.
using LockObserver = void (*)(const void* lock);
void set_lock_observer_for_test(LockObserver observer);
void tell_lock_observer(const void* lock);

}  // namespace tensorscope
