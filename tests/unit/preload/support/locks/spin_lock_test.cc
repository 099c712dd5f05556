// SPDX-License-Identifier: Apache-2.0
// The bounded lock: excludes, survives a preempted holder, gives up.
// Covers: preload/support/spin_then_sleep.cc
#include "support/locks/spin_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tensorscope {
namespace {

TEST(SpinLock, ExcludesOthersAlsoWithMoreThreadsThanProcessors) {
  SpinLock lock;
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        SpinGuard guard(lock);
        ASSERT_TRUE(guard);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 8u * 20000);
}

TEST(SpinLock, GivesUpWhereTheHolderNeverComesBack) {
  SpinLock lock;
  ASSERT_TRUE(lock.lock());
  errno = 77;
  EXPECT_FALSE(lock.lock_within(5'000'000));
  EXPECT_EQ(errno, 77);
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SpinLock, IsHadAfterAHolderThatSleeps) {
  SpinLock lock;
  ASSERT_TRUE(lock.lock());
  std::atomic<bool> waiting{false};
  std::thread waiter([&] {
    waiting = true;
    SpinGuard guard(lock);
    EXPECT_TRUE(guard);
  });
  while (!waiting) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  lock.unlock();
  waiter.join();
}

TEST(SpinLock, IsFreeInAForkedChild) {
  static constinit SpinLock held, free;
  static int told = 0;
  ASSERT_TRUE(held.lock());
  const pid_t child = fork();
  if (child == 0) {
    if (held.try_lock() || !free.try_lock()) _exit(1);  // as fork copied them
    free.unlock();
    forget_locks_in_child();
    set_lock_observer_for_test([](const void*) { ++told; });
    for (SpinLock* lock : {&held, &free}) {
      if (!lock->try_lock() || lock->try_lock() || lock->lock_within(1)) _exit(2);
      lock->unlock();
      SpinGuard guard(*lock);
      if (!guard) _exit(3);
    }
    _exit(told == 2 ? 0 : 4);  // once each
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(held.try_lock());
  held.unlock();
}

TEST(SpinGuard, GivesTheLockBack) {
  SpinLock lock;
  {
    SpinGuard guard(lock);
    EXPECT_TRUE(guard);
    EXPECT_FALSE(lock.try_lock());
  }
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace tensorscope
