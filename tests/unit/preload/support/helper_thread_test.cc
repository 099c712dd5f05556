// SPDX-License-Identifier: Apache-2.0
#include "support/helper_thread.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>

#include "support/signals_blocked.h"

namespace tensorscope {
namespace {

bool blocks(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

void* note_mask(void* blocked) {
  static_cast<std::atomic<int>*>(blocked)->store(blocks(SIGUSR1) && blocks(SIGTERM) ? 1 : 2);
  return nullptr;
}

TEST(SignalsBlocked, UntilItsEndAndTheMaskIsAsBefore) {
  sigset_t own, before;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &own, &before);
  {
    const SignalsBlocked blocked;
    EXPECT_TRUE(blocks(SIGUSR1));
  }
  EXPECT_FALSE(blocks(SIGUSR1));
  EXPECT_TRUE(blocks(SIGUSR2));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(HelperThread, HandlesNoSignal) {
  std::atomic<int> seen{0};
  pthread_t thread;
  ASSERT_TRUE(start_helper_thread(size_t{256} << 10, note_mask, &seen, &thread));
  pthread_join(thread, nullptr);
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(blocks(SIGUSR1));
}

TEST(HelperThread, NeedNotBeJoined) {
  static std::atomic<int> seen{0};
  ASSERT_TRUE(start_helper_thread(size_t{256} << 10, note_mask, &seen));
  while (seen == 0) sched_yield();
  EXPECT_EQ(seen, 1);
}

TEST(HelperThread, NoneIsToBeHadWithAnImpossibleStack) {
  std::atomic<int> seen{0};
  EXPECT_FALSE(start_helper_thread(size_t{1} << 60, note_mask, &seen));
  EXPECT_FALSE(blocks(SIGUSR1));
}

}  // namespace
}  // namespace tensorscope
