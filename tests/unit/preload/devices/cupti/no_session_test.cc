// SPDX-License-Identifier: Apache-2.0
// A build without CUPTI says so, once, and only where it is asked for it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "devices/cupti/session.h"
#include "support/coverage.h"
#include "support/options.h"

namespace tensorscope::cupti {
namespace {

std::string said() {
  ::testing::internal::CaptureStderr();
  parse_options();
  prepare();
  return ::testing::internal::GetCapturedStderr();
}

TEST(NoSession, IsSilentWhereNobodyAsks) {
  unsetenv("TENSORSCOPE_CUPTI");
  EXPECT_EQ(said(), "");
  EXPECT_FALSE(wanted());
}

TEST(NoSession, SaysSoWhereItIsAskedFor) {
  setenv("TENSORSCOPE_CUPTI", "1", 1);
  EXPECT_EQ(said(),
            "tensorscope: TENSORSCOPE_CUPTI: this build has no CUPTI (meson setup -Dcupti=enabled). Everything else is "
            "still recorded.\n");
  EXPECT_FALSE(wanted());
  EXPECT_EQ(coverage(Subject::driver_memory).seen.load(), Seen::no);
}

}  // namespace
}  // namespace tensorscope::cupti
