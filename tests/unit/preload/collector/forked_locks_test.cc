// SPDX-License-Identifier: Apache-2.0
// A child that is forked while another thread holds a lock of the profiler can take it, and can write a dump: for each
// lock that the work below takes, one after the other, whoever takes it and where.
//
// Each is tried in a process of its own. There each thread reports a lock when it first takes it
// (set_lock_observer_for_test): the one whose turn it is stays locked until the fork has returned, or for a moment
// where the fork itself waits for it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "collector/collector.h"
#include "collector/collector_thread.h"
#include "collector/memory_limits.h"
#include "collector/near_limit_dump.h"
#include "collector/wake.h"
#include "devices/cupti/launch_counts.h"
#include "devices/cupti/limited_work.h"
#include "devices/cupti/memory_activity.h"
#include "devices/cupti/virtual_memory.h"
#include "devices/driver.h"
#include "dump/failure.h"
#include "hooks/features.h"
#include "hooks/process/fork.h"
#include "hooks/process/program_signal.h"
#include "hooks/torch/throw_function.h"
#include "live/allocation_table.h"
#include "live/node_table.h"
#include "live/runtime_table.h"
#include "live/tensor_table.h"
#include "live/tracker.h"
#include "oom/failing_thread.h"
#include "oom/reserve.h"
#include "python/gil_thread.h"
#include "python/interpreter.h"
#include "stacks/capture.h"
#include "stacks/python/python_stack.h"
#include "stacks/python/python_trie.h"
#include "support/clock.h"
#include "support/locks/lock_word.h"
#include "support/locks/spin_lock.h"
#include "support/options.h"
#include "support/state.h"
#include "support/under_qemu.h"
#include "tensorscope/tensorscope.h"
#include "values_file/value_store.h"
#include "watch/watch.h"

namespace tensorscope {
namespace {

constexpr int kNoSuchLock = 100, kMaxLocks = 1000;
constexpr uint64_t kMaxHeldNs = SpinLock::kPatienceNs / 2;

constinit Arena g_arena;
constinit stacks::PythonTrie g_trie(g_arena);
constinit cupti::LimitedWork g_limited_work;

struct Node {
  const void* vtable;
};

// What the rooms do, each lock at least once. False: something did not work.
bool work() {
  static int class_of_nodes;
  static char objects[64];
  char block[64];
  Node node = {&class_of_nodes};
  {
    InsideScope inside;
    for (char& object : objects) live::tensor_constructed(&object);
    live::gradient_edge_set(&objects[0], &node);
    live::cpu_allocated(block, sizeof block);
    live::runtime_allocated({block + 1, 8, live::RuntimeKind::device, {1, 0}, false, true});
    live::runtime_freed(block + 1);
    live::cpu_freed(block);
    live::node_destroyed(&node);
    for (char& object : objects) live::tensor_destroyed(&object);
    if (g_trie.intern({0, 1, 2, 1, 3}) == 0) return false;
    stacks::start_python();
  }
  cupti::g_launches.count(1, {{.kernels = 1}});
  cupti::g_memory.record({});
  cupti::g_virtual_memory.created(7, 2048, 1, 30, 99);
  cupti::g_virtual_memory.released(7);
  if (!g_limited_work.run([] {}, 60'000'000'000)) return false;
  // A program that Zig links has the C++ runtime in itself, and no such symbol.
  if (dlsym(RTLD_DEFAULT, "__cxa_throw") != nullptr) hooks::throw_function_for(reinterpret_cast<const void*>(&work));
  { const oom::ReserveInUse reserve; }
  dump::Failure failure;
  collector::limit_is_near(failure);
  python::find_interpreter();
  python::wake_lender();
  {
    const int8_t device = 0;
    devices::DriverAnswers answers;
    answers.ask(&device, 1);
  }
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  if (hooks::program_sigaction(&action, nullptr) != 0) return false;
  InsideScope inside;
  values_file::count_loss("values", "for the test");
  values_file::add_call(format::CallRow());
  values_file::flush();
  oom::host_allocation_failed(4096);
  failure.error = "little is left";
  collector::write_near_limit(failure, 60'000);
  return collector::write_dump_and_wait(collector::Reason::call, "", nullptr, 0) == TENSORSCOPE_OK;
}

void start_everything() {
  g_state.store(State::recording);
  if (!live::start()) _exit(10);
  stacks::start_native();
  hooks::start_fork_handlers();
  oom::start(&collector::write_failure);
  hooks::add_features();
  if (!cupti::g_launches.start() || !cupti::g_memory.start() || !cupti::g_virtual_memory.start()) _exit(11);
  watch::start(&collector::wake_collector);
  if (!collector::start_collector()) _exit(12);
  hooks::start_signal(SIGUSR1);
  collector::start_memory_limits();
}

std::atomic<int> g_turn, g_locks;  // which is to stay locked, and how many were taken so far
std::atomic<bool> g_held, g_forked, g_done;

// One of the 64 shards stands for all.
bool is_another_shard(const void* lock) {
  struct Table {
    const void* begin;
    size_t size;
    std::atomic<bool> seen;
  };
  static Table tables[] = {{&live::g_tensors, sizeof live::g_tensors, false},
                           {&live::g_allocations, sizeof live::g_allocations, false},
                           {&live::g_runtime_blocks, sizeof live::g_runtime_blocks, false},
                           {&live::g_nodes, sizeof live::g_nodes, false}};
  for (Table& table : tables) {
    if (uintptr_t(lock) - uintptr_t(table.begin) < table.size) return table.seen.exchange(true);
  }
  return false;
}

void note_lock(const void* lock) {
  if (is_another_shard(lock) || g_locks++ != g_turn) return;
  g_held = true;
  for (const uint64_t until = monotonic_ns() + kMaxHeldNs; monotonic_ns() < until && !g_forked;) usleep(1000);
}

[[noreturn]] void end_child() {
  set_lock_observer_for_test(nullptr);
  // Twice: what was half done at the fork is found by the first.
  _exit(work() && work() && is_recording() ? 0 : 1);
}

// A child that hangs may have all signals blocked.
int end_of(pid_t child) {
  int status = -1;
  for (int ms = 0; ms < 60'000; ++ms, usleep(1000)) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return status;
}

// In a process of its own. `turn`: the number of the lock, in the order in which they are taken.
[[noreturn]] void try_one(int turn) {
  alarm(120);
  start_everything();
  g_turn = turn;
  set_lock_observer_for_test(note_lock);
  forget_locks_in_child();  // so that each lock is reported
  std::thread worker([] {
    if (!work()) _exit(20);
    g_done = true;
  });
  while (!g_held && !g_done) usleep(100);
  if (!g_held) _exit(kNoSuchLock);
  const pid_t child = fork();
  if (child == 0) end_child();
  g_forked = true;
  const int status = end_of(child);
  worker.join();
  set_lock_observer_for_test(nullptr);
  if (!WIFEXITED(status)) _exit(30);
  _exit(WEXITSTATUS(status) == 0 && work() && is_recording() ? 0 : 31);
}

TEST(ForkedLocks, AreFreeInTheChildAndWhatTheyGuardIsWhole) {
  if (under_qemu()) GTEST_SKIP() << "a child that a program with threads forks may wait for a lock of qemu's own";
  char folder[] = "/tmp/forked_locks_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  setenv("TENSORSCOPE_DIR", folder, 1);
  setenv("TENSORSCOPE_QUIET", "1", 1);
  setenv("TENSORSCOPE_CALLS", "1", 1);
  setenv("TENSORSCOPE_OOM_INTERVAL_MS", "0", 1);
  parse_options();
  int turn = 0;
  for (;; ++turn) {
    const pid_t child = fork();
    if (child == 0) try_one(turn);
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "lock " << turn << ": signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == kNoSuchLock) break;
    ASSERT_LT(turn, kMaxLocks);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "lock " << turn;
  }
  EXPECT_GE(turn, 20) << "locks that were tried";
  ASSERT_EQ(system((std::string("rm -r ") + folder).c_str()), 0);
}

}  // namespace
}  // namespace tensorscope
