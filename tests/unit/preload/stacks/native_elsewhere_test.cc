// SPDX-License-Identifier: Apache-2.0
// Native stacks on another machine than x86-64: none, and the dump says why.
#include <gtest/gtest.h>

#include "stacks/native/native_stack.h"
#include "support/coverage.h"

namespace tensorscope::stacks {
namespace {

TEST(NativeElsewhere, NothingIsRecordedAndTheReasonIsSaid) {
  start_native();
  EXPECT_EQ(capture_native(nullptr), 0u);
  EXPECT_EQ(native_frame_count(), 1u);  // the sentinel
  EXPECT_EQ(coverage(Subject::native_stacks).seen.load(), Seen::no);
  EXPECT_STREQ(coverage(Subject::native_stacks).detail.load(), "recorded on x86-64 only");
}

}  // namespace
}  // namespace tensorscope::stacks
