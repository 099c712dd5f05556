#include "attach/thread_places.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tensorscope::attach
