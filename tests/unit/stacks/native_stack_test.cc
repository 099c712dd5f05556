#include "stacks/native_stack.h"

#include <gtest/gtest.h>

#include <thread>

#include "native_test_support.h"
#include "support/coverage.h"

namespace tensorscope::stacks {
namespace {

class NativeStack : public testing::Test {
 protected:
  static void SetUpTestSuite() { start_native(); }
};

#define EXPECT_SAME_STACKS(both)        \
  do {                                  \
    const BothStacks b = (both);        \
    EXPECT_GT(b.reference.size(), 3u);  \
    EXPECT_EQ(b.captured, b.reference); \
  } while (false)

TEST_F(NativeStack, IsOn) { EXPECT_EQ(coverage(Subject::native_stacks).seen.load(), Seen::yes); }

TEST_F(NativeStack, EqualsLibunwind) {
  for (int i = 0; i < 5; ++i) EXPECT_SAME_STACKS(both_stacks());
}

__attribute__((noinline)) int recurse(int depth) {
  if (depth == 0) {
    EXPECT_SAME_STACKS(both_stacks());
    return 0;
  }
  return 1 + recurse(depth - 1);
}

TEST_F(NativeStack, Recursion) {
  for (int depth : {0, 1, 50, 3, 200, 199, 200, 2}) EXPECT_EQ(recurse(depth), depth);
}

TEST_F(NativeStack, SamePlaceIsSameId) {
  StackId ids[3];
  for (StackId& id : ids) id = capture_native(nullptr);
  EXPECT_NE(ids[0], 0u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
}

TEST_F(NativeStack, BeginsWithTheCaller) {
  const auto captured = addresses_of(capture_native(nullptr));
  ASSERT_FALSE(captured.empty());
  const auto here = reinterpret_cast<uint64_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
  EXPECT_EQ(captured[1], here);
}

TEST_F(NativeStack, Threads) {
  std::thread([] { EXPECT_SAME_STACKS(both_stacks()); }).join();
}

}  // namespace
}  // namespace tensorscope::stacks
