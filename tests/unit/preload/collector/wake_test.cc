// SPDX-License-Identifier: Apache-2.0
#include "collector/wake.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "support/fresh_in_child.h"
#include "support/helper_thread.h"
#include "support/under_qemu.h"
#include "tensorscope/rules/own_handler.h"

namespace tensorscope::collector {
namespace {

constexpr char kRun[] = "0123456789abcdef0123456789abcdef";

// Between this process and its children: a thread with a descriptor table of its own has none of ours.
std::atomic<int>& shared_word() {
  static void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<std::atomic<int>*>(page);
}

// Shares its page as the collector does, and ends with what it was asked.
void* serve(void*) {
  pthread_setname_np(pthread_self(), rules::kCollectorName);
  if (!share_wake_page()) _exit(1);
  const uint32_t seen = wake_count();
  shared_word() = 1;
  DumpOfAncestor last;
  constexpr timespec kLong = {600, 0};
  while (wake_count() == seen) sleep_until_woken(seen, &kLong);
  const uint32_t asked = ancestors_requests(last);
  const bool whole = strcmp(last.run_id, kRun) == 0 && last.pid == 7 && last.number == 3 && last.all;
  _exit(asked == 1 && whole ? 0 : 3);
}

pid_t start_serving_child() {
  shared_word() = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    pthread_t helper;
    if (!start_helper_thread(1 << 18, serve, nullptr, &helper, Descriptors::own)) _exit(4);
    for (;;) pause();
  }
  while (shared_word() == 0) sched_yield();
  return pid;
}

int status_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

DumpOfAncestor dump() {
  DumpOfAncestor dump;
  strcpy(dump.run_id, kRun);
  dump.pid = 7;
  dump.number = 3;
  dump.all = true;
  return dump;
}

TEST(WakePage, AnotherProcessAsksAndWakes) {
  if (under_qemu()) GTEST_SKIP() << "qemu's user mode gives a thread no descriptor table of its own";
  const pid_t child = start_serving_child();
  EXPECT_TRUE(ask_descendant(child, dump()));
  EXPECT_EQ(status_of(child), 0);
}

TEST(WakePage, AProcessWithoutOneIsLeftAlone) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_setname_np(pthread_self(), rules::kCollectorName);
    for (;;) pause();
  }
  EXPECT_FALSE(ask_descendant(child, dump()));
  EXPECT_EQ(kill(child, SIGTERM), 0);
  EXPECT_EQ(status_of(child), -1);
  EXPECT_FALSE(ask_descendant(child, dump())) << "it has ended";
}

TEST(WakePage, AForkedChildHasAnother) {
  const uint32_t before = wake_count();
  wake_collector();
  EXPECT_EQ(wake_count(), before + 1);
  const pid_t child = fork();
  if (child == 0) {
    FreshInChild::make_all_anew();
    const bool fresh = wake_count() == 0;
    wake_collector();
    _exit(fresh && wake_count() == 1 ? 0 : 1);
  }
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(wake_count(), before + 1);
}

}  // namespace
}  // namespace tensorscope::collector
