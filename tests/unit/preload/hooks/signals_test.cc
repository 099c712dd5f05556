// SPDX-License-Identifier: Apache-2.0
// Run with libtensorscope.so preloaded, SIGUSR1 being the dump signal: the program sees and keeps its own handling of
// it.
// Covers: preload/hooks/process/program_signal.cc
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_torch.h"

namespace {

// What the kernel holds, whatever libc says.
struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  uint64_t mask;
};
KernelAction kernel_action(int number) {
  KernelAction action = {};
  syscall(SYS_rt_sigaction, number, nullptr, &action, sizeof action.mask);
  return action;
}

volatile int g_calls, g_value, g_depth, g_deepest;
volatile bool g_other_blocked, g_itself_blocked, g_again;

void note_masks() {
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  g_other_blocked = sigismember(&blocked, SIGUSR2) == 1;
  g_itself_blocked = sigismember(&blocked, SIGUSR1) == 1;
}
void count(int number) {
  g_calls = g_calls + (number == SIGUSR1);
  note_masks();
}
void count_with_value(int number, siginfo_t* information, void* context) {
  count(number);
  g_value = context ? information->si_value.sival_int : -1;
}
void nest(int) {
  g_depth = g_depth + 1;
  if (g_depth > g_deepest) g_deepest = g_depth;
  if (!g_again) {
    g_again = true;
    raise(SIGUSR1);
  }
  g_depth = g_depth - 1;
}

struct sigaction action_of(void (*handler)(int), int flags = 0) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return action;
}
struct sigaction present() {
  struct sigaction action = {};
  EXPECT_EQ(sigaction(SIGUSR1, nullptr, &action), 0);
  return action;
}

void wake() { call_alloc_cpu(64, 0, 0, 0, 0, 0); }

class Signals : public testing::Test {
 protected:
  void SetUp() override {
    for (volatile int* number : {&g_calls, &g_value, &g_depth, &g_deepest}) *number = 0;
    for (volatile bool* flag : {&g_other_blocked, &g_itself_blocked, &g_again}) *flag = false;
    wake();
    const struct sigaction none = action_of(SIG_DFL);
    sigaction(SIGUSR1, &none, nullptr);
  }
};

// First of this file, as long as the profiler sleeps.
TEST(SignalsBefore, AHandlerOfBeforeIsKept) {
  struct sigaction mine = action_of(count, SA_RESTART);
  ASSERT_EQ(sigaction(SIGUSR1, &mine, nullptr), 0);
  ASSERT_EQ(kernel_action(SIGUSR1).handler, reinterpret_cast<void*>(count));
  wake();
  EXPECT_NE(kernel_action(SIGUSR1).handler, reinterpret_cast<void*>(count));
  EXPECT_EQ(present().sa_handler, count);
  EXPECT_NE(present().sa_flags & SA_RESTART, 0);
  raise(SIGUSR1);
  EXPECT_EQ(g_calls, 1);
}

TEST_F(Signals, TheDefaultIsNotTaken) {
  EXPECT_EQ(present().sa_handler, SIG_DFL);
  raise(SIGUSR1);
  const struct sigaction ignored = action_of(SIG_IGN);
  sigaction(SIGUSR1, &ignored, nullptr);
  raise(SIGUSR1);
  EXPECT_EQ(present().sa_handler, SIG_IGN);
}

TEST_F(Signals, AHandlerOfAfterRunsWithWhatItAskedFor) {
  struct sigaction mine = {};
  mine.sa_sigaction = count_with_value;
  mine.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaddset(&mine.sa_mask, SIGUSR2);
  struct sigaction old = {};
  ASSERT_EQ(sigaction(SIGUSR1, &mine, &old), 0);
  EXPECT_EQ(old.sa_handler, SIG_DFL);
  const void* ours = kernel_action(SIGUSR1).handler;
  EXPECT_NE(ours, reinterpret_cast<void*>(count_with_value));
  errno = 4711;
  sigqueue(getpid(), SIGUSR1, {.sival_int = 42});
  EXPECT_EQ(errno, 4711);
  EXPECT_EQ(g_calls, 1);
  EXPECT_EQ(g_value, 42);
  EXPECT_TRUE(g_other_blocked);
  EXPECT_TRUE(g_itself_blocked);
  const struct sigaction seen = present();
  EXPECT_EQ(seen.sa_sigaction, count_with_value);
  EXPECT_EQ(sigismember(&seen.sa_mask, SIGUSR2), 1);
  note_masks();
  EXPECT_FALSE(g_other_blocked);
}

TEST_F(Signals, OneShot) {
  const struct sigaction mine = action_of(count, int(SA_RESETHAND));
  sigaction(SIGUSR1, &mine, nullptr);
  raise(SIGUSR1);
  raise(SIGUSR1);
  EXPECT_EQ(g_calls, 1);
  EXPECT_EQ(present().sa_handler, SIG_DFL);
}

TEST_F(Signals, NestedOnlyWhereAskedFor) {
  struct sigaction mine = action_of(nest);
  sigaction(SIGUSR1, &mine, nullptr);
  raise(SIGUSR1);
  EXPECT_EQ(g_deepest, 1);
  g_again = false;
  mine.sa_flags = SA_NODEFER;
  sigaction(SIGUSR1, &mine, nullptr);
  raise(SIGUSR1);
  EXPECT_EQ(g_deepest, 2);
}

TEST_F(Signals, RestartIsTheProgramsChoice) {
  struct sigaction mine = action_of(count, SA_RESTART);
  sigaction(SIGUSR1, &mine, nullptr);
  EXPECT_NE(kernel_action(SIGUSR1).flags & SA_RESTART, 0u);
  mine.sa_flags = 0;
  sigaction(SIGUSR1, &mine, nullptr);
  EXPECT_EQ(kernel_action(SIGUSR1).flags & SA_RESTART, 0u);
}

TEST_F(Signals, OlderFunctions) {
  EXPECT_EQ(signal(SIGUSR1, count), SIG_DFL);
  EXPECT_NE(present().sa_flags & SA_RESTART, 0);
  raise(SIGUSR1);
  raise(SIGUSR1);
  EXPECT_EQ(g_calls, 2);
  EXPECT_EQ(signal(SIGUSR1, SIG_ERR), SIG_ERR);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  EXPECT_EQ(siginterrupt(SIGUSR1, 1), 0);
  EXPECT_EQ(present().sa_flags & SA_RESTART, 0);
  EXPECT_EQ(present().sa_handler, count);
  signal(SIGUSR1, count);
  EXPECT_EQ(present().sa_flags & SA_RESTART, 0);
  EXPECT_EQ(siginterrupt(SIGUSR1, 0), 0);
  EXPECT_NE(present().sa_flags & SA_RESTART, 0);

  EXPECT_EQ(__sysv_signal(SIGUSR1, count), count);
  raise(SIGUSR1);
  raise(SIGUSR1);
  EXPECT_EQ(g_calls, 3);
#pragma GCC diagnostic pop
}

TEST_F(Signals, OtherSignalsAreLeftAlone) {
  const struct sigaction mine = action_of(count);
  sigaction(SIGUSR2, &mine, nullptr);
  EXPECT_EQ(kernel_action(SIGUSR2).handler, reinterpret_cast<void*>(count));
  EXPECT_EQ(signal(SIGUSR2, SIG_DFL), count);
  EXPECT_EQ(kernel_action(SIGUSR2).handler, nullptr);
}

TEST_F(Signals, AForkedChildHasTheProgramsHandler) {
  signal(SIGUSR1, count);
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGUSR1);
    _exit(g_calls == 1 && signal(SIGUSR1, SIG_DFL) == count ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(present().sa_handler, count);
}

// What runs between vfork and exec shares our memory, not our handlers.
TEST_F(Signals, AVforkedChildChangesOnlyItself) {
  signal(SIGUSR1, count);
  const pid_t child = vfork();
  if (child == 0) {
    signal(SIGUSR1, SIG_IGN);
    _exit(kernel_action(SIGUSR1).handler == reinterpret_cast<void*>(SIG_IGN) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(present().sa_handler, count);
  raise(SIGUSR1);
  EXPECT_EQ(g_calls, 1);
}

}  // namespace
