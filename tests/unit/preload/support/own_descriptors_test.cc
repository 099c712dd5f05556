#include "support/own_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/under_qemu.h"

namespace tensorscope {
namespace {

struct Seen {
  int opened[2] = {-1, -1};
  long thread = 0;
  bool the_programs_are_there = false;
  bool signals_blocked = false;
};

void look(void* argument) {
  auto& seen = *static_cast<Seen*>(argument);
  if (pipe(seen.opened) != 0) return;
  seen.thread = syscall(SYS_gettid);
  seen.the_programs_are_there = fcntl(STDERR_FILENO, F_GETFD) != -1;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  seen.signals_blocked = sigismember(&blocked, SIGTERM) == 1;
}

TEST(OwnDescriptors, WhatIsOpenedIsNeverTheProgramsAndClosedAtTheEnd) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  const int free_number = dup(STDERR_FILENO);
  close(free_number);
  Seen seen;
  ASSERT_TRUE(run_with_own_descriptors(look, &seen));
  EXPECT_EQ(seen.opened[0], free_number);
  EXPECT_EQ(fcntl(free_number, F_GETFD), -1);
  EXPECT_NE(seen.thread, 0);
  EXPECT_NE(seen.thread, syscall(SYS_gettid));
  EXPECT_TRUE(seen.the_programs_are_there);
  EXPECT_TRUE(seen.signals_blocked);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

TEST(OwnDescriptors, ThePipeOfAThreadThatReadsEndsWithItsLastWriter) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<bool> inside{false}, closed{false};
  std::thread closer([&] {
    while (!inside) std::this_thread::yield();
    close(ends[1]);
    closed = true;
  });
  struct Both {
    std::atomic<bool>&inside, &closed;
  } both{inside, closed};
  ASSERT_TRUE(run_with_own_descriptors(
      [](void* argument) {
        auto& both = *static_cast<Both*>(argument);
        both.inside = true;
        while (!both.closed) syscall(SYS_sched_yield);
      },
      &both));
  closer.join();
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);  // a copy that stayed open would leave this waiting
  close(ends[0]);
}

}  // namespace
}  // namespace tensorscope
