#include "attach/thread_places.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

namespace tensorscope::attach {
namespace {

TEST(ThreadPlaces, ABlockingFunctionIsKnownByAnyOfItsNames) {
  for (const char* name : {"pthread_cond_wait", "__pthread_cond_wait", "pthread_cond_wait@@GLIBC_2.3.2", "__poll",
                           "__libc_read", "epoll_wait", "__clock_nanosleep"}) {
    EXPECT_TRUE(waits_in(name)) << name;
  }
}

// Each of these may hold a lock that dlopen() or malloc() needs.
TEST(ThreadPlaces, AFunctionThatMayHoldALockOfLibcIsNotSafe) {
  for (const char* name : {"malloc", "free", "dlopen", "dl_iterate_phdr", "fork", "__libc_fork", "printf", "", "exit"}) {
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

}  // namespace
}  // namespace tensorscope::attach
