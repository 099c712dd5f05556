// SPDX-License-Identifier: Apache-2.0
#include "support/status.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace tensorscope {
namespace {

static_assert(sizeof(Status) == sizeof(const char*));
static_assert(!std::is_constructible_v<Status, const char*>, "a text alone says neither");
static_assert(!std::is_convertible_v<Status, bool>, "no number by mistake");

TEST(Status, IsDoneOrSaysWhyNot) {
  constexpr Status done = Status::done(), failed = Status::failed("no memory for the tables");
  EXPECT_TRUE(done);
  EXPECT_STREQ(done.why(), "");
  EXPECT_FALSE(failed);
  EXPECT_STREQ(failed.why(), "no memory for the tables");
}

TEST(Status, AReasonWithoutWordsIsAFailureAllTheSame) {
  EXPECT_FALSE(Status::failed(""));
  Status last = Status::failed("first");
  last = Status::done();
  EXPECT_TRUE(last);
}

}  // namespace
}  // namespace tensorscope
