// SPDX-License-Identifier: Apache-2.0
// Covers: preload/collector/{collector_thread,jobs,near_limit_dump}.cc
#include "collector/collector.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "collector/collector_thread.h"
#include "collector/jobs.h"
#include "collector/near_limit_dump.h"
#include "collector/wake.h"
#include "collector/write_dump.h"
#include "support/fresh_in_child.h"
#include "tensorscope/tensorscope.h"

namespace tensorscope::collector {
namespace {

// Stands in for write_dump: counts, and stops at a gate where a test wants it to.
struct FakeDump {
  std::atomic<int> begun{0};
  std::atomic<int> written{0};
  std::atomic<bool> held{false};
  std::atomic<bool> fails{false};
  std::atomic<int> sent{0};  // signals, by a test that counts them
  std::atomic<int> seen{0};  // of these, at the last beginning
  sem_t go;
  std::atomic<bool> signals_blocked{true};
  std::string name;
  std::string detail;
  Reason reason{};
  dump::Failure failure;
} g_fake;

bool fake_dump(const DumpRequest& request, char* path, size_t path_size) {
  char name[16];
  pthread_getname_np(pthread_self(), name, sizeof(name));
  g_fake.name = name;
  g_fake.detail = request.detail;
  g_fake.reason = request.reason;
  g_fake.failure = request.failure != nullptr ? *request.failure : dump::Failure{};
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  if (!sigismember(&blocked, SIGUSR1) || !sigismember(&blocked, SIGXFSZ)) g_fake.signals_blocked = false;
  g_fake.seen = g_fake.sent.load();
  ++g_fake.begun;  // what stands above may be read from here on
  if (g_fake.held) sem_wait(&g_fake.go);
  snprintf(path, path_size, "/dumps/%d", ++g_fake.written);
  return !g_fake.fails;
}

void wait_until(const std::atomic<int>& value, int wanted) {
  while (value < wanted) usleep(100);
}

class CollectorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    sem_init(&g_fake.go, 0, 0);
    set_dump_function_for_test(fake_dump);
    pthread_atfork(before_fork, after_fork_in_parent, [] {
      FreshInChild::make_all_anew();
      after_fork_in_child();
    });
    ASSERT_TRUE(start_collector());
  }
  // What stands in for write_dump ends with this program, and a signal may still be served.
  static void TearDownTestSuite() {
    while (!suspend(1000)) {
    }
  }
  void SetUp() override {
    g_fake.begun = g_fake.written = g_fake.sent = g_fake.seen = 0;
    g_fake.held = g_fake.fails = false;
  }
};

TEST_F(CollectorTest, ASignalMakesOneDump) {
  request_from_signal();
  wait_until(g_fake.written, 1);
  EXPECT_EQ(g_fake.reason, Reason::signal);
  EXPECT_EQ(g_fake.name, "tensorscope");
  EXPECT_TRUE(g_fake.signals_blocked);
}

TEST_F(CollectorTest, SignalsDuringADumpMakeOneMore) {
  g_fake.held = true;
  request_from_signal();
  wait_until(g_fake.begun, 1);
  for (int i = 0; i < 100; ++i) request_from_signal();
  sem_post(&g_fake.go);
  wait_until(g_fake.begun, 2);
  sem_post(&g_fake.go);
  wait_until(g_fake.written, 2);
  char path[64];
  g_fake.held = false;
  write_dump_and_wait(Reason::call, "", path, sizeof(path));  // the collector has nothing else left to do
  EXPECT_STREQ(path, "/dumps/3");
}

TEST_F(CollectorTest, AWaiterHasItsOwnDumpAndPath) {
  char path[64];
  EXPECT_EQ(write_dump_and_wait(Reason::exit, "exit status 3", path, sizeof(path)), TENSORSCOPE_OK);
  EXPECT_STREQ(path, "/dumps/1");
  EXPECT_EQ(g_fake.detail, "exit status 3");
  EXPECT_EQ(g_fake.reason, Reason::exit);
  char small[4];
  EXPECT_EQ(write_dump_and_wait(Reason::call, "", small, sizeof(small)), TENSORSCOPE_OK);
  EXPECT_STREQ(small, "/du");
  EXPECT_EQ(write_dump_and_wait(Reason::call, nullptr, nullptr, 0), TENSORSCOPE_OK);
}

TEST_F(CollectorTest, GrowthDuringADumpMakesOneMore) {
  g_fake.held = true;
  request_at_growth();
  wait_until(g_fake.begun, 1);
  EXPECT_EQ(g_fake.reason, Reason::growth);
  for (int i = 0; i < 100; ++i) request_at_growth();
  sem_post(&g_fake.go);
  wait_until(g_fake.begun, 2);
  g_fake.held = false;
  sem_post(&g_fake.go);
  char path[64];
  write_dump_and_wait(Reason::call, "", path, sizeof(path));
  EXPECT_STREQ(path, "/dumps/3");
}

TEST_F(CollectorTest, ALimitThatIsNearIsWaitedFor) {
  dump::Failure near;
  near.limit = SystemLimit::cgroup;
  near.left_bytes = 17;
  near.error = "little is left";
  write_near_limit(near, 1'000'000);
  EXPECT_EQ(g_fake.written, 1);
  EXPECT_EQ(g_fake.reason, Reason::low_memory);
  EXPECT_EQ(g_fake.detail, "little is left");
  EXPECT_EQ(g_fake.failure.limit, SystemLimit::cgroup);
  EXPECT_EQ(g_fake.failure.left_bytes, 17u);
}

TEST_F(CollectorTest, AWaitThatIsGivenUpDoesNotEndTheDump) {
  dump::Failure near;
  near.left_bytes = 1;
  g_fake.held = true;
  write_near_limit(near, 1);
  EXPECT_EQ(g_fake.written, 0);
  near.left_bytes = 2;
  write_near_limit(near, 1'000'000);  // one at a time: returns at once
  wait_until(g_fake.begun, 1);
  g_fake.held = false;
  sem_post(&g_fake.go);
  EXPECT_EQ(write_dump_and_wait(Reason::call, "", nullptr, 0), TENSORSCOPE_OK);
  EXPECT_EQ(g_fake.written, 2);
  write_near_limit(near, 1'000'000);
  EXPECT_EQ(g_fake.written, 3);
  EXPECT_EQ(g_fake.failure.left_bytes, 2u);
}

TEST_F(CollectorTest, AFailedDumpIsTold) {
  g_fake.fails = true;
  char path[64] = "x";
  EXPECT_EQ(write_dump_and_wait(Reason::call, "", path, sizeof(path)), TENSORSCOPE_FAILED);
  EXPECT_STREQ(path, "");
}

TEST_F(CollectorTest, ManyThreadsWaitForOneEach) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 50; ++k) EXPECT_EQ(write_dump_and_wait(Reason::call, "", nullptr, 0), TENSORSCOPE_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(g_fake.written, 400);
}

// The child's collector answers a signal although the child does nothing but sleep.
TEST_F(CollectorTest, AForkedChildHasItsOwn) {
  int answer[2];
  ASSERT_EQ(pipe(answer), 0);
  const pid_t child = fork();
  if (child == 0) {
    g_fake.begun = g_fake.written = 0;
    request_from_signal();
    wait_until(g_fake.written, 1);
    char path[64];
    const bool ok = write_dump_and_wait(Reason::call, "", path, sizeof(path)) == TENSORSCOPE_OK;
    const char byte = ok && strcmp(path, "/dumps/2") == 0 ? 'y' : 'n';
    const bool told = write(answer[1], &byte, 1) == 1;
    _exit(told ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(read(answer[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  waitpid(child, nullptr, 0);
  EXPECT_EQ(g_fake.written, 0);
  EXPECT_EQ(write_dump_and_wait(Reason::call, "", nullptr, 0), TENSORSCOPE_OK);
  close(answer[0]);
  close(answer[1]);
}

// As phase 2 of a dump, which may wait for the GIL that the forking thread holds.
TEST_F(CollectorTest, AForkDuringADumpDoesNotWaitForItsEnd) {
  g_fake.held = true;
  request_from_signal();
  wait_until(g_fake.begun, 1);
  const pid_t child = fork();
  if (child == 0) {
    g_fake.held = false;
    _exit(write_dump_and_wait(Reason::call, "", nullptr, 0) == TENSORSCOPE_OK ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  sem_post(&g_fake.go);
  wait_until(g_fake.written, 1);
}

// After the last signal at least one dump begins: the count that the fake saw at its last beginning is the whole.
TEST_F(CollectorTest, SignalsFromManyThreadsAreNeverLost) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 2000; ++k) {
        ++g_fake.sent;
        request_from_signal();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  wait_until(g_fake.seen, 8000);
  EXPECT_EQ(g_fake.seen, 8000);
}

}  // namespace
}  // namespace tensorscope::collector
