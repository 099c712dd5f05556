// SPDX-License-Identifier: Apache-2.0
// The lock whose waiters sleep: excludes, gives up in time, wakes everybody, is free in a forked child.
// Covers: preload/support/locks/lock_word.cc
#include "support/locks/mutex.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tensorscope {
namespace {

constinit Mutex g_mutex;

TEST(Mutex, ExcludesOthersAndLosesNoWaiter) {
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const MutexGuard guard(g_mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 8u * 20000);
}

TEST(Mutex, GivesUpWhereTheHolderDoesNotComeBack) {
  g_mutex.lock();
  errno = 77;
  EXPECT_FALSE(g_mutex.lock_within(0));
  EXPECT_FALSE(g_mutex.lock_within(5'000'000));
  EXPECT_EQ(errno, 77);
  std::thread waiter([] {
    ASSERT_TRUE(g_mutex.lock_within(60'000'000'000));
    g_mutex.unlock();
  });
  usleep(10'000);
  g_mutex.unlock();  // whoever gave up is not woken in place of who waits
  waiter.join();
}

TEST(Mutex, IsFreeInAForkedChildWhoeverWaitsForIt) {
  g_mutex.lock();
  std::atomic<bool> waiting{false};
  std::thread waiter([&] {
    waiting = true;
    const MutexGuard guard(g_mutex);
  });
  while (!waiting) std::this_thread::yield();
  usleep(10'000);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (g_mutex.lock_within(0)) _exit(1);  // as fork copied it
    forget_locks_in_child();
    if (!g_mutex.lock_within(0) || g_mutex.lock_within(0)) _exit(2);
    g_mutex.unlock();
    forget_locks_in_child();  // that of a child of the child, for a lock that was free
    const MutexGuard guard(g_mutex);
    _exit(g_mutex.lock_within(0) ? 3 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  g_mutex.unlock();
  waiter.join();
}

}  // namespace
}  // namespace tensorscope
