// SPDX-License-Identifier: Apache-2.0
#include "support/ended_threads.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "support/helper_thread.h"

namespace tensorscope {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;

bool counts(pid_t thread) { return std::filesystem::exists("/proc/self/task/" + std::to_string(thread)); }

// A thread of the profiler's that has said that it ends, and still runs until it is told.
struct Late {
  std::atomic<pid_t> number{0};
  std::atomic<bool> may_end{false};
};

void* end_late(void* argument) {
  auto& late = *static_cast<Late*>(argument);
  { const HelperThreadScope thread("late"); }
  late.number.store(pid_t(syscall(SYS_gettid)));
  while (!late.may_end.load()) sched_yield();
  return nullptr;
}

TEST(EndedThreads, AreWaitedForUntilTheyCountNoMore) {
  Late late;
  pthread_t thread;
  ASSERT_TRUE(start_helper_thread(kStackBytes, end_late, &late, &thread));
  while (late.number.load() == 0) sched_yield();
  std::thread teller([&] {
    usleep(50'000);
    late.may_end.store(true);
  });
  wait_until_ended_threads_are_gone();
  EXPECT_TRUE(late.may_end.load());
  EXPECT_FALSE(counts(late.number.load()));
  teller.join();
  pthread_join(thread, nullptr);
}

TEST(EndedThreads, AreGivenUpWhereTheyDoNotEnd) {
  Late late;
  pthread_t thread;
  ASSERT_TRUE(start_helper_thread(kStackBytes, end_late, &late, &thread));
  while (late.number.load() == 0) sched_yield();
  wait_until_ended_threads_are_gone();
  EXPECT_TRUE(counts(late.number.load()));
  late.may_end.store(true);
  pthread_join(thread, nullptr);
}

TEST(EndedThreads, ErrnoStaysAsItWas) {
  note_thread_end(pid_t(syscall(SYS_gettid)) + 1);  // whatever that is, it is no thread of this process
  errno = EDOM;
  wait_until_ended_threads_are_gone();
  EXPECT_EQ(errno, EDOM);
}

}  // namespace
}  // namespace tensorscope
