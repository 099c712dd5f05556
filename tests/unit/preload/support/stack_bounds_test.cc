// SPDX-License-Identifier: Apache-2.0
#include "support/stack_bounds.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace tensorscope {
namespace {

bool lies_within(const StackBounds& bounds) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return bounds.low < here && here < bounds.high;
}

TEST(StackBounds, OfTheMainThreadEndWhereTheProgramsArgumentsBegin) {
  const StackBounds bounds = stack_of_this_thread();
  EXPECT_TRUE(lies_within(bounds));
  // Above arguments and environment; `environ` itself is on the heap once a library has set a variable.
  const uint64_t random_bytes = getauxval(AT_RANDOM);
  EXPECT_LE(bounds.high, random_bytes);
  EXPECT_LT(random_bytes - bounds.high, uint64_t{1} << 20);
}

TEST(StackBounds, OfAnotherThreadAreItsOwn) {
  StackBounds other;
  bool within = false;
  std::thread([&] { within = lies_within(other = stack_of_this_thread()); }).join();
  EXPECT_TRUE(within);
  EXPECT_FALSE(lies_within(other));
}

// Such a child's only thread has the process's number, and the stack of a thread that pthread_create made.
TEST(StackBounds, OfAChildThatAnotherThreadForkedAreThatThreads) {
  int status = -1;
  std::thread([&] {
    const pid_t child = fork();
    if (child == 0) _exit(lies_within(stack_of_this_thread()) ? 0 : 1);
    waitpid(child, &status, 0);
  }).join();
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tensorscope
