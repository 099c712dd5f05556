// SPDX-License-Identifier: Apache-2.0
// Covers: preload/support/programs_side.cc
#include "support/private_descriptor_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/helper_thread.h"
#include "support/programs_side.h"
#include "support/under_qemu.h"

namespace tensorscope {
namespace {

constexpr size_t kStackBytes = size_t{512} << 10;

// The numbers that the calling thread has open, without that of the list itself.
std::vector<int> open_numbers() {
  std::vector<int> numbers;
  DIR* list = opendir("/proc/thread-self/fd");
  if (list == nullptr) return {-1};
  while (const dirent* entry = readdir(list)) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(list)) numbers.push_back(atoi(entry->d_name));
  }
  closedir(list);
  return numbers;
}

struct Seen {
  std::vector<int> open;
  int opened[2] = {-1, -1};
  long thread = 0;
  bool signals_blocked = false, own = false;
};

void look(Seen& seen) {
  seen.open = open_numbers();
  if (pipe(seen.opened) != 0) return;
  seen.thread = syscall(SYS_gettid);
  seen.own = has_private_descriptors();
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  seen.signals_blocked = sigismember(&blocked, SIGTERM) == 1;
}

TEST(OwnDescriptors, OfOneCallAreAnEmptyTableAndClosedAtItsEnd) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  const std::vector<int> before = open_numbers();
  Seen seen;
  ASSERT_TRUE(run_with_private_descriptors([&] { look(seen); }));
  EXPECT_EQ(seen.open, std::vector<int>());
  EXPECT_EQ(seen.opened[0], 0);
  EXPECT_EQ(open_numbers(), before);
  EXPECT_NE(seen.thread, 0);
  EXPECT_NE(seen.thread, syscall(SYS_gettid));
  EXPECT_TRUE(seen.own);
  EXPECT_FALSE(has_private_descriptors());
  EXPECT_TRUE(seen.signals_blocked);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

TEST(OwnDescriptors, ThePipeOfAThreadThatReadsEndsWithItsLastWriter) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<bool> inside{false}, was_read{false};
  std::thread other([&] {
    while (!inside) std::this_thread::yield();
    close(ends[1]);
    char byte;
    EXPECT_EQ(read(ends[0], &byte, 1), 0);  // a copy that is open would leave this waiting
    was_read = true;
  });
  ASSERT_TRUE(run_with_private_descriptors([&] {
    inside = true;
    while (!was_read) syscall(SYS_sched_yield);
  }));
  other.join();
  close(ends[0]);
}

TEST(OwnDescriptors, OfAThreadAreThoseOfTheThreadsThatItMakes) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  const std::vector<int> before = open_numbers();
  struct Both {
    Seen maker, made;
  } both;
  pthread_t thread;
  const bool started = start_helper_thread(
      kStackBytes,
      [](void* argument) -> void* {
        auto& both = *static_cast<Both*>(argument);
        look(both.maker);
        pthread_t made;
        const auto of_made = [](void* seen) -> void* {
          look(*static_cast<Seen*>(seen));
          return nullptr;
        };
        if (start_helper_thread(kStackBytes, of_made, &both.made, &made)) pthread_join(made, nullptr);
        return nullptr;
      },
      &both, &thread, Descriptors::own);
  ASSERT_TRUE(started);
  pthread_join(thread, nullptr);
  EXPECT_EQ(both.maker.open, std::vector<int>());
  EXPECT_EQ(both.maker.opened[0], 0);
  EXPECT_EQ(both.made.open, (std::vector<int>{0, 1}));
  EXPECT_EQ(open_numbers(), before);
}

TEST(OwnDescriptors, AServerReadsForOtherThreadsAndElseAThreadOfOneCall) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  static bool served;
  served = false;
  set_descriptor_server([](FunctionRef<void()> function) {
    if (served) return false;
    served = true;
    function();
    return true;
  });
  const int free_number = dup(STDERR_FILENO);
  close(free_number);
  int opened = -1;
  const auto open_one = [&] {
    opened = open("/dev/null", O_RDONLY);
    if (!served) return;
    close(opened);
  };
  with_private_descriptors(open_one);
  EXPECT_TRUE(served);
  EXPECT_EQ(opened, free_number);  // this server serves on the calling thread
  with_private_descriptors(open_one);
  EXPECT_EQ(opened, 0);
  set_descriptor_server(nullptr);
}

struct OnTheSide {
  std::atomic<uint32_t> ended{0};
  pthread_t thread;
  OnTheSide() {
    EXPECT_TRUE(start_helper_thread(
        kStackBytes,
        [](void* ended) -> void* {
          open_programs_side();
          serve_programs_side(*static_cast<std::atomic<uint32_t>*>(ended));
          return nullptr;
        },
        &ended, &thread));
  }
  ~OnTheSide() {
    ended = 1;
    wake_programs_side();
    pthread_join(thread, nullptr);
  }
};

void* go_to_the_programs_side(void* argument) {
  auto& seen = *static_cast<Seen*>(argument);
  while (!run_on_programs_side([&] { look(seen); })) sched_yield();
  pthread_t made;
  const auto of_made = [](void* seen) -> void* {
    static_cast<Seen*>(seen)->open = open_numbers();
    return nullptr;
  };
  if (start_helper_thread(kStackBytes, of_made, &seen, &made, Descriptors::of_program)) pthread_join(made, nullptr);
  return nullptr;
}

TEST(ProgramsSide, HasTheProgramsDescriptorsAndMakesThreadsThatHaveThem) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  const int free_number = dup(STDERR_FILENO);
  close(free_number);
  const std::vector<int> before = open_numbers();
  Seen seen;
  {
    const OnTheSide side;
    pthread_t thread;
    ASSERT_TRUE(start_helper_thread(kStackBytes, go_to_the_programs_side, &seen, &thread, Descriptors::own));
    pthread_join(thread, nullptr);
  }
  EXPECT_EQ(seen.opened[0], free_number);
  close(seen.opened[0]);
  close(seen.opened[1]);
  EXPECT_EQ(seen.open.size(), before.size() + 2);
}

TEST(ProgramsSide, IsNotThereForAThreadWithOwnDescriptorsBeforeItBegins) {
  if (under_qemu()) GTEST_SKIP() << kNoOwnDescriptors;
  bool here = false;
  EXPECT_TRUE(run_on_programs_side([&] { here = true; }));  // this thread has the program's
  EXPECT_TRUE(here);
  bool asked = true;
  ASSERT_TRUE(run_with_private_descriptors([&] { asked = run_on_programs_side([] {}); }));
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace tensorscope
