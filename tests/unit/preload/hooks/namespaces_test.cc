// SPDX-License-Identifier: Apache-2.0
// Run with libtensorscope.so preloaded: calls that the kernel gives to a process with one thread alone. unshare() with
// flags of threads needs no right, and changes nothing in such a process.
// Covers: preload/hooks/process/namespaces.cc
#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "fake_torch.h"

namespace {

size_t profilers_threads() {
  size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name.starts_with("tensorscope");
  }
  return count;
}

bool threads_are_back() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (profilers_threads() < 2 && std::chrono::steady_clock::now() < end) usleep(1000);
  return profilers_threads() == 2;
}

class Namespaces : public ::testing::Test {
 protected:
  void SetUp() override {
    call_alloc_cpu(64, 0, 0, 0, 0, 0);  // wakes the profiler
    ASSERT_TRUE(threads_are_back());
    errno = EXDEV;
  }
};

TEST_F(Namespaces, AProcessWhoseOtherThreadsAreTheProfilersHasOne) {
  EXPECT_EQ(unshare(CLONE_THREAD), 0);
  EXPECT_EQ(errno, EXDEV);
  EXPECT_TRUE(threads_are_back());
}

TEST_F(Namespaces, AThreadOfTheProgramsIsInTheWayAsWithoutTheProfiler) {
  std::atomic<bool> ends{false};
  std::thread other([&] { ends.wait(false); });
  EXPECT_EQ(unshare(CLONE_THREAD), -1);
  EXPECT_EQ(errno, EINVAL);
  ends = true;
  ends.notify_one();
  other.join();
  EXPECT_TRUE(threads_are_back());
}

TEST_F(Namespaces, WhatThreadsDoNotHinderEndsNone) {
  EXPECT_EQ(unshare(0), 0);
  EXPECT_EQ(profilers_threads(), 2u);
  EXPECT_EQ(errno, EXDEV);
}

TEST_F(Namespaces, AnErrorIsThatOfTheCall) {
  EXPECT_EQ(setns(-1, 0), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_TRUE(threads_are_back());
}

}  // namespace
