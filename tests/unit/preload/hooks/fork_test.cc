// SPDX-License-Identifier: Apache-2.0
// Run with libtensorscope.so preloaded: between our prepare handler and the end of fork() the forking thread waits for
// others (malloc's locks, other libraries' handlers), so no other thread may wait for it.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "fake_torch.h"
#include "tensorscope/tensorscope.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kHang = 120;  // seconds; the tests end within a few

// Registered before the profiler wakes, so it runs after the profiler's own prepare handler.
void (*g_during_fork)() = nullptr;
[[maybe_unused]] const int g_registered = pthread_atfork(
    [] {
      if (g_during_fork) g_during_fork();
    },
    nullptr, nullptr);

void wake() { call_alloc_cpu(64, 0, 0, 0, 0, 0); }

bool comes_true(const std::atomic<bool>& flag) {
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (!flag && Clock::now() < end) usleep(1000);
  return flag;
}

// Forks, with `meanwhile` in the prepare handler; true where the child ends as it should.
bool fork_with(void (*meanwhile)()) {
  g_during_fork = meanwhile;
  const pid_t child = fork();
  if (child == 0) _exit(7);
  g_during_fork = nullptr;
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

// A thread that only waits to be interrupted.
pthread_t g_thread;
std::atomic<bool> g_thread_ends, g_handled, g_handled_in_time;

void set(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
}

class Fork : public testing::Test {
 protected:
  void SetUp() override {
    alarm(kHang);
    wake();
    g_thread_ends = g_handled = g_handled_in_time = false;
    ASSERT_EQ(pthread_create(&g_thread, nullptr, wait_for_the_end, nullptr), 0);
  }
  void TearDown() override {
    g_thread_ends = true;
    pthread_join(g_thread, nullptr);
    signal(SIGUSR1, SIG_DFL);
    alarm(0);
  }
  static void* wait_for_the_end(void*) {
    while (!g_thread_ends) usleep(1000);
    return nullptr;
  }
  static void interrupt_the_thread() {
    pthread_kill(g_thread, SIGUSR1);
    g_handled_in_time = comes_true(g_handled);
  }
};

TEST_F(Fork, AHandlerElsewhereDoesNotWaitForIt) {
  set([](int) { g_handled = true; }, SA_RESTART);
  EXPECT_TRUE(fork_with(interrupt_the_thread));
  EXPECT_TRUE(g_handled_in_time);
}

TEST_F(Fork, AOneShotHandlerElsewhereDoesNotWaitForIt) {
  set([](int) { g_handled = true; }, int(SA_RESETHAND));
  EXPECT_TRUE(fork_with(interrupt_the_thread));
  EXPECT_TRUE(g_handled_in_time);
  EXPECT_EQ(signal(SIGUSR1, SIG_DFL), SIG_DFL);
}

// As handlers of System V do.
TEST_F(Fork, AHandlerElsewhereMayInstallItselfAgain) {
  static void (*const handler)(int) = [](int number) {
    signal(number, SIG_IGN);
    g_handled = true;
  };
  set(handler, SA_RESTART);
  EXPECT_TRUE(fork_with(interrupt_the_thread));
  EXPECT_TRUE(g_handled_in_time);
  EXPECT_EQ(signal(SIGUSR1, SIG_DFL), SIG_IGN);
}

TEST_F(Fork, AThreadThatAsksForADumpDoesNotWaitForItForEver) {
  static std::atomic<bool> answered, answered_in_time;
  static std::atomic<int> answer;
  static std::thread asker;
  EXPECT_TRUE(fork_with([] {
    asker = std::thread([] {
      answer = tensorscope_dump(nullptr, 0);
      answered = true;
    });
    answered_in_time = comes_true(answered);
  }));
  asker.join();
  EXPECT_TRUE(answered_in_time);
  EXPECT_EQ(answer, TENSORSCOPE_FAILED);
  EXPECT_EQ(tensorscope_dump(nullptr, 0), TENSORSCOPE_OK);
}

// ---- Many forks, signals and allocations at once ------------------------------------------------------------------

std::atomic<int> g_calls;
void count(int) { ++g_calls; }
void count_with_information(int, siginfo_t* information, void*) { g_calls += information->si_signo == SIGUSR1; }

struct Storm {
  const char* name;
  void (*set)();
};
void PrintTo(const Storm& storm, std::ostream* out) { *out << storm.name; }

class ForkStorm : public testing::TestWithParam<Storm> {
 protected:
  void SetUp() override {
    alarm(kHang);
    wake();
    g_calls = 0;
    ends_ = false;
    for (int i = 0; i < 3; ++i) threads_.emplace_back(allocate);
  }
  void TearDown() override {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    signal(SIGUSR1, SIG_DFL);
    alarm(0);
  }
  // Each thread has an arena of malloc's, whose lock it holds most of the time.
  static void allocate() {
    while (!ends_) {
      void* blocks[64];
      for (void*& block : blocks) block = malloc(2000);
      for (void* block : blocks) free(block);
      const Word object = Word(&blocks[0]);
      call_free_cpu(object, 0, 0, 0, 0, 0);
    }
  }
  static std::atomic<bool> ends_;
  std::vector<std::thread> threads_;
};
std::atomic<bool> ForkStorm::ends_;

TEST_P(ForkStorm, Ends) {
  const auto end = Clock::now() + std::chrono::seconds(3);
  for (int forks = 0; forks < 20 || Clock::now() < end; ++forks) {
    GetParam().set();
    for (std::thread& thread : threads_) pthread_kill(thread.native_handle(), SIGUSR1);
    ASSERT_TRUE(fork_with(nullptr));
  }
  EXPECT_EQ(g_calls > 0, GetParam().name != std::string("default"));
}

void set_siginfo() {
  struct sigaction action = {};
  action.sa_sigaction = count_with_information;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Handlers, ForkStorm,
                         testing::Values(Storm{"default", [] {}}, Storm{"plain", [] { set(count, SA_RESTART); }},
                                         Storm{"one_shot", [] { set(count, int(SA_RESETHAND)); }},
                                         Storm{"siginfo", set_siginfo}),
                         [](const auto& storm) { return std::string(storm.param.name); });

}  // namespace
