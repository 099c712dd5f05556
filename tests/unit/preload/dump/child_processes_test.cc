// SPDX-License-Identifier: Apache-2.0
#include "dump/child_processes.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace tensorscope::dump {
namespace {

TEST(ChildProcesses, OfEveryThreadAreCounted) {
  const auto child = [] {
    const pid_t pid = fork();
    if (pid == 0) {
      pause();
      _exit(0);
    }
    return pid;
  };
  const ChildProcesses before = read_child_processes();
  const pid_t first = child();
  pid_t second = 0;
  std::atomic<bool> looked{false};
  std::thread parent([&] {
    second = child();
    looked.wait(false);
  });
  while (read_child_processes().count < before.count + 2) sched_yield();
  const ChildProcesses with = read_child_processes();
  EXPECT_EQ(with.count, before.count + 2);
  EXPECT_GT(with.resident, before.resident);
  looked = true;
  looked.notify_one();
  parent.join();
  for (const pid_t pid : {first, second}) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  EXPECT_EQ(read_child_processes().count, before.count);
}

// A procfs as a kernel makes it, in files: process 10 with one thread.
class FakeProc : public ::testing::Test {
 protected:
  FakeProc() { write("self/task/10/comm", "program\n"); }
  ~FakeProc() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void process(int pid, int parent, int resident_kib, int private_kib) {
    const std::string name = std::to_string(pid);
    write(name + "/stat", name + " (a (name) 9) S " + std::to_string(parent) + " 1 1 0 0");
    write(name + "/status", "Name:\tx\nVmRSS:\t" + std::to_string(resident_kib) + " kB\n");
    write(name + "/smaps_rollup",
          "Rss: 1 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: " + std::to_string(private_kib) + " kB\n");
  }
  ChildProcesses read(const WorkClocks& clocks = {}, Descendants* descendants = nullptr) {
    return read_child_processes(descendants, folder_.c_str(), 10, clocks);
  }

 private:
  std::string folder_ = std::filesystem::temp_directory_path() / ("proc." + std::to_string(getpid()));
};

TEST_F(FakeProc, ChildrenOfChildrenAreDescendantsAndNoChildren) {
  write("self/task/10/children", "11 12 ");
  write("11/task/11/children", "13 ");
  write("13/task/13/children", "14 ");
  process(11, 10, 400, 300);
  process(12, 10, 40, 30);
  process(13, 11, 4, 3);
  process(14, 13, 2, 1);
  Descendants all;
  EXPECT_EQ(read({}, &all).count, 2u);
  ASSERT_EQ(all.count, 4u);
  EXPECT_EQ(all.all[0].pid, 11);
  EXPECT_EQ(all.all[2].pid, 13);
  EXPECT_EQ(all.all[3].pid, 14);
  EXPECT_EQ(all.all[3].memory.private_bytes, 1u << 10);
}

TEST(MemoryOfProcess, GrowsByTheSmallerOfTwoGrowths) {
  const MemoryOfProcess before = {.resident = 100, .private_bytes = 50};
  EXPECT_EQ((MemoryOfProcess{.resident = 130, .private_bytes = 60}.growth_since(before)), 10u);
  EXPECT_EQ((MemoryOfProcess{.resident = 105, .private_bytes = 90}.growth_since(before)), 5u)
      << "written to, and there before";
  EXPECT_EQ((MemoryOfProcess{.resident = 90, .private_bytes = 60}.growth_since(before)), 0u);
}

TEST_F(FakeProc, TheKernelsListsAreRead) {
  write("self/task/10/children", "11 12 ");
  process(11, 10, 400, 300);
  process(12, 10, 40, 30);
  process(13, 10, 4, 3);  // in no list
  const ChildProcesses found = read();
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.resident, 440u * 1024);
  EXPECT_EQ(found.private_bytes, 330u * 1024);
}

TEST_F(FakeProc, WithoutListsEachProcessIsAskedForItsParent) {
  process(11, 10, 400, 300);
  process(12, 11, 40, 30);  // a grandchild
  process(13, 1, 4, 3);
  const ChildProcesses found = read();
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.count, 1u);
  EXPECT_EQ(found.resident, 400u * 1024);
  EXPECT_EQ(found.private_bytes, 300u * 1024);
}

TEST_F(FakeProc, AListThatIsNotReadWholeIsNotBelieved) {
  std::string list;
  for (int i = 0; i < 4000; ++i) list += "99 ";
  write("self/task/10/children", list);
  process(11, 10, 400, 300);
  EXPECT_EQ(read().count, 1u);
}

TEST_F(FakeProc, AThreadThatHasEndedHasNoList) {
  write("self/task/10/children", "11 ");
  write("self/task/14/x", "");  // no comm: it is gone
  process(11, 10, 400, 300);
  process(12, 10, 40, 30);
  EXPECT_EQ(read().count, 1u);
}

TEST_F(FakeProc, WithoutListsAndTimeChildrenAreNotKnown) {
  static uint64_t now;
  now = 0;
  process(11, 10, 400, 300);
  const ChildProcesses found =
      read({.processor_ns = [] { return now += 60'000'000; }, .wall_ns = [] { return uint64_t{0}; }});
  EXPECT_FALSE(found.known);
  EXPECT_EQ(found.count, 0u);
}

// A second by the clock between any two looks at it, as on a machine that is busy elsewhere: what counts is the
// processor's time.
TEST_F(FakeProc, ABusyMachineDoesNotUseUpTheTimeOfPrivateMemory) {
  static uint64_t wall;
  wall = 0;
  write("self/task/10/children", "11 ");
  process(11, 10, 400, 300);
  EXPECT_EQ(
      read({.processor_ns = [] { return uint64_t{0}; }, .wall_ns = [] { return wall += 1'000'000'000; }}).private_bytes,
      300u * 1024);
}

TEST_F(FakeProc, PrivateMemoryThatTakesTooLongIsNotKnownAndTheRestIs) {
  static uint64_t processor, wall;
  write("self/task/10/children", "11 12 ");
  process(11, 10, 400, 300);
  process(12, 10, 40, 30);
  // The first child is measured within the time, the second is not.
  processor = 0;
  ChildProcesses found = read({.processor_ns = [] { return std::exchange(processor, processor + 30'000'000); },
                               .wall_ns = [] { return uint64_t{0}; }});
  EXPECT_EQ(found.private_bytes, 0u);
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.resident, 440u * 1024);
  // A child whose lock is held: the clock.
  wall = 0;
  found = read({.processor_ns = [] { return uint64_t{0}; }, .wall_ns = [] { return wall += 2'000'000'000; }});
  EXPECT_EQ(found.private_bytes, 0u);
  EXPECT_TRUE(found.known);
}

TEST_F(FakeProc, PrivateMemoryThatOneChildDoesNotReportIsNotKnown) {
  write("self/task/10/children", "11 12 ");
  process(11, 10, 400, 300);
  write("12/status", "VmRSS: 40 kB\n");
  EXPECT_EQ(read().private_bytes, 0u);
  EXPECT_EQ(read().count, 2u);
}

}  // namespace
}  // namespace tensorscope::dump
