// SPDX-License-Identifier: Apache-2.0
// The recorder under several threads at once, with snapshots and looks among the events, and around fork.
// Covers: preload/live/{all_locks,lock_failure}.cc
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <unordered_set>
#include <vector>

#include "fake_stacks.h"
#include "live/all_locks.h"
#include "live/snapshot_view.h"
#include "live/tensor_table.h"
#include "live/tracker.h"
#include "support/fresh_in_child.h"
#include "support/locks/lock_word.h"
#include "support/state.h"

namespace tensorscope::live {
namespace {

constexpr size_t kThreads = 4;
constexpr size_t kObjects = 512;  // of each thread

struct Objects {
  char bytes[kThreads][kObjects][64];
};

class ThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(start());
    g_state.store(State::recording);
    set_current_node_function(nullptr);
  }
};

// What a thread does: a random history over its own objects, each a tensor with an allocation of its own size. `state`
// reports which objects are alive.
void churn(Objects& objects, size_t thread, int rounds, std::vector<bool>& alive, std::atomic<uint8_t>* constructed) {
  std::mt19937_64 random(thread + 1);
  t_fake_stack = {StackId(100 + thread), 1};
  for (int i = 0; i < rounds; ++i) {
    const size_t object = random() % kObjects;
    char* address = objects.bytes[thread][object];
    if (alive[object]) {
      tensor_destroyed(address);
      constructed[object].store(0, std::memory_order_relaxed);
      cpu_freed(address + 8);
    } else {
      cpu_allocated(address + 8, 64 + object);
      constructed[object].store(1, std::memory_order_relaxed);
      tensor_constructed(address);
    }
    alive[object] = !alive[object];
  }
}

TEST_F(ThreadsTest, TheTableEqualsTheTruthAndALookNeverMeetsADeadTensor) {
  auto objects = std::make_unique<Objects>();
  std::vector<std::atomic<uint8_t>> constructed(kThreads * kObjects);
  std::vector<std::vector<bool>> alive(kThreads, std::vector<bool>(kObjects, false));
  SnapshotView before;
  ASSERT_TRUE(before.take());

  std::atomic<int> running{int(kThreads)};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      churn(*objects, t, 60000, alive[t], &constructed[t * kObjects]);
      --running;
    });
  }
  size_t looked = 0, destroyed_under_the_look = 0;
  int snapshots = 0;
  while (running.load() > 0 || snapshots < 3) {
    SnapshotView view;
    ASSERT_TRUE(view.take());
    ++snapshots;
    for (size_t i = 1; i < view.tensors.size; ++i) {
      ASSERT_LT(view.tensors[i - 1].serial, view.tensors[i].serial);
      ASSERT_LE(view.tensors[i].serial, view.serial);
    }
    // At one instant: what the counters say is what the rows say.
    std::vector<uint64_t> live(view.sites.size, 0);
    for (const AllocationEntry& entry : view.allocations) live[entry.site] += entry.nbytes;
    for (size_t i = 0; i < view.sites.size; ++i) ASSERT_EQ(view.sites[i].bytes_live, live[i]) << "site " << i;
    look_at_live(view.tensors, 0, view.tensors.size, [&](size_t index) {
      const auto* impl = static_cast<const char*>(view.tensors[index].impl);
      const auto* first = &objects->bytes[0][0][0];
      if (impl < first || impl >= first + sizeof(Objects)) return;
      ++looked;
      const size_t object = size_t(impl - first) / 64;
      destroyed_under_the_look += constructed[object].load(std::memory_order_relaxed) == 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(looked, 0u);
  EXPECT_EQ(destroyed_under_the_look, 0u);

  SnapshotView after;
  ASSERT_TRUE(after.take());
  std::unordered_set<const void*> tensors, allocations;
  for (const TensorEntry& entry : after.tensors) tensors.insert(entry.impl);
  for (const AllocationEntry& entry : after.allocations) allocations.insert(entry.pointer);
  size_t expected = before.tensors.size;
  for (size_t t = 0; t < kThreads; ++t) {
    for (size_t i = 0; i < kObjects; ++i) {
      expected += alive[t][i];
      EXPECT_EQ(tensors.contains(objects->bytes[t][i]), alive[t][i]);
      EXPECT_EQ(allocations.contains(objects->bytes[t][i] + 8), alive[t][i]);
    }
  }
  EXPECT_EQ(after.tensors.size, expected);
  for (size_t t = 0; t < kThreads; ++t) {
    for (size_t i = 0; i < kObjects; ++i) {
      tensor_destroyed(objects->bytes[t][i]);
      cpu_freed(objects->bytes[t][i] + 8);
    }
  }
}

TEST_F(ThreadsTest, ManyShortLivedThreadsAreEnteredOnceEach) {
  static char objects[500];
  SnapshotView before;
  ASSERT_TRUE(before.take());
  for (char& object : objects) {
    std::thread([&] {
      tensor_constructed(&object);
      tensor_destroyed(&object);
      tensor_constructed(&object);
      tensor_destroyed(&object);
    }).join();
  }
  SnapshotView after;
  ASSERT_TRUE(after.take());
  EXPECT_EQ(after.threads.size, before.threads.size + sizeof(objects));
}

TEST_F(ThreadsTest, AChildForkedWhileOthersRecordHasWholeTablesAndFreeLocks) {
  auto objects = std::make_unique<Objects>();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      while (!stop.load()) {
        for (auto& object : objects->bytes[t]) tensor_constructed(object);
        for (auto& object : objects->bytes[t]) tensor_destroyed(object);
      }
    });
  }
  for (int i = 0; i < 30 && !HasFailure(); ++i) {
    before_fork();
    const pid_t child = fork();
    if (child == 0) {
      forget_locks_in_child();
      FreshInChild::make_all_anew();
      after_fork_in_child();
      static char own;
      tensor_constructed(&own);
      SnapshotView view;
      const bool taken = view.take();
      bool found = false;
      size_t inherited = 0;
      for (const TensorEntry& entry : view.tensors) {
        if (entry.impl == &own)
          found = entry.serial > view.fork_serial && view.threads[entry.thread].tid == uint32_t(getpid());
        inherited += entry.serial <= view.fork_serial;
      }
      uint64_t live = 0;
      for (const SiteCounters& site : view.sites) live += site.tensors_live;
      _exit(!taken ? 1 : !found ? 2 : inherited + 1 != view.tensors.size ? 3 : live != view.tensors.size ? 4 : 0);
    }
    after_fork_in_parent();
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(view.fork_serial, 0u);
}

// Last: it switches recording off in this process.
TEST_F(ThreadsTest, ALockThatIsNotGivenBackStopsRecordingInsteadOfTheProgram) {
  static char objects[2];
  tensor_constructed(&objects[0]);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  ASSERT_TRUE(lock_everything());
  std::thread([] { tensor_constructed(&objects[1]); }).join();
  EXPECT_EQ(g_state.load(), State::off);
  ASSERT_NE(off_reason(), nullptr);
  unlock_everything();
  // Nothing holds destructors up any more, so nobody is looked at.
  size_t looked = 0;
  look_at_live(view.tensors, 0, view.tensors.size, [&](size_t) { ++looked; });
  EXPECT_EQ(looked, 0u);
  SnapshotView later;
  EXPECT_TRUE(later.take());
}

}  // namespace
}  // namespace tensorscope::live
