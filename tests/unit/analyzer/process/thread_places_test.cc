// SPDX-License-Identifier: Apache-2.0
#include "process/thread_places.h"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace tensorscope::process {
namespace {

TEST(ThreadPlaces, ABlockingFunctionIsKnownByAnyOfItsNames) {
  for (const char* name : {"pthread_cond_wait", "__pthread_cond_wait", "pthread_cond_wait@@GLIBC_2.3.2", "__poll",
                           "__libc_read", "epoll_wait", "__clock_nanosleep"}) {
    EXPECT_TRUE(waits_in(name)) << name;
  }
}

// Each of these may hold a lock that dlopen() or malloc() needs.
TEST(ThreadPlaces, AFunctionThatMayHoldALockOfLibcIsNotSafe) {
  for (const char* name :
       {"malloc", "free", "dlopen", "dl_iterate_phdr", "fork", "__libc_fork", "printf", "", "exit"}) {
    EXPECT_FALSE(waits_in(name)) << name;
  }
}

uintptr_t end_of_the_loader() {
  std::ifstream maps("/proc/self/maps");
  uintptr_t end = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/ld-linux") != std::string::npos) end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
  }
  return end;
}

// As a just-in-time compiler may place it. libdw takes every address behind the last object for that one.
TEST(ThreadPlaces, CodeBehindTheLoaderIsNotTheLoaders) {
#if defined(__x86_64__)
  static constexpr unsigned char kBreakpoint[] = {0xcc};
#else
  static constexpr unsigned char kBreakpoint[] = {0x00, 0x00, 0x20, 0xd4};
#endif
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  const uintptr_t end = end_of_the_loader();
  ASSERT_NE(end, 0u);
  void* code = MAP_FAILED;
  for (size_t i = 0; i < 256 && code == MAP_FAILED; ++i) {
    code = mmap(reinterpret_cast<void*>(end + i * page), page, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  ASSERT_NE(code, MAP_FAILED);
  memcpy(code, kBreakpoint, sizeof kBreakpoint);
  __builtin___clear_cache(static_cast<char*>(code), static_cast<char*>(code) + sizeof kBreakpoint);

  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    reinterpret_cast<void (*)()>(code)();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(WSTOPSIG(status), SIGTRAP);
  const auto places = ThreadPlaces::open(child);
  ASSERT_NE(places, nullptr);
  const ThreadPlace place = places->of(child);
  EXPECT_FALSE(place.loading);
  EXPECT_EQ(place.why.find("dynamic loader"), std::string::npos) << place.why;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  munmap(code, page);
}

#if defined(__x86_64__)
// A child that waits in `wait`, stopped there, and what is said of its place.
template <typename Wait>
ThreadPlace place_of_child_in(Wait wait) {
  const pid_t child = fork();
  if (child == 0) {
    wait();
    _exit(0);
  }
  std::string state;
  for (int i = 0; i < 10'000 && state.find("202 ") != 0; ++i) {  // futex
    usleep(1000);
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/syscall"), state);
  }
  EXPECT_EQ(state.find("202 "), 0u) << state;
  int status = 0;
  EXPECT_EQ(ptrace(PTRACE_SEIZE, child, nullptr, nullptr), 0);
  EXPECT_EQ(ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr), 0);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  ThreadPlace place;
  if (const auto places = ThreadPlaces::open(child)) place = places->of(child);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return place;
}

// CPython's locks wait there. Each of the functions ends in a jump to a local one, which has no name in the library.
TEST(ThreadPlaces, AWaitForASemaphoreIsSafe) {
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const ThreadPlace forever = place_of_child_in([] { sem_wait(&semaphore); });
  EXPECT_TRUE(forever.safe) << forever.why;
  const ThreadPlace for_a_time = place_of_child_in([] {
    timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 100;
    sem_timedwait(&semaphore, &end);
  });
  EXPECT_TRUE(for_a_time.safe) << for_a_time.why;
}

// Whoever holds the lock, a function that is called there may need it.
TEST(ThreadPlaces, AWaitForALockOfLibcIsNotSafe) {
  const ThreadPlace place = place_of_child_in([] {
    static std::atomic<bool> is_held{false};
    std::thread([] {
      flockfile(stderr);
      is_held = true;
      for (;;) pause();
    }).detach();
    while (!is_held) usleep(1000);
    fputs("x", stderr);
  });
  EXPECT_FALSE(place.safe);
}
#endif

}  // namespace
}  // namespace tensorscope::process
