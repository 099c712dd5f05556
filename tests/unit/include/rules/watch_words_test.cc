// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/watch_words.h"

#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

using namespace watch_detail;

TEST(WatchWords, Sizes) {
  uint64_t bytes = 0;
  for (const char* text : {"65536", "64K", "64KB", "64 KiB", "65536 B"}) {
    EXPECT_TRUE(read_size(text, bytes)) << text;
    EXPECT_EQ(bytes, 65536u) << text;
  }
  for (const char* text : {"", "K", "64X", "64K 1", "-1", "18446744073709551616", "99999999999T"}) {
    EXPECT_FALSE(read_size(text, bytes)) << text;
  }
}

TEST(WatchWords, Times) {
  uint64_t ms = 0;
  EXPECT_TRUE(read_time("500ms", ms) && ms == 500);
  EXPECT_TRUE(read_time("5s", ms) && ms == 5000);
  EXPECT_TRUE(read_time("2min", ms) && ms == 120'000);
  for (const char* text : {"5", "s", "5h", "99999999999999999999s"}) EXPECT_FALSE(read_time(text, ms)) << text;
}

TEST(WatchWords, Steps) {
  const auto steps = [](const char* text) {
    uint32_t first = 0, last = 0;
    EXPECT_TRUE(read_steps(text, first, last)) << text;
    return std::pair(first, last);
  };
  EXPECT_EQ(steps("7"), std::pair(7u, 7u));
  EXPECT_EQ(steps("10-20"), std::pair(10u, 20u));
  EXPECT_EQ(steps("10-"), std::pair(10u, UINT32_MAX));
  EXPECT_EQ(steps("-20"), std::pair(0u, 20u));
  uint32_t first = 0, last = 0;
  for (const char* text : {"", "x", "20-10", "1-2-3", "4294967296"})
    EXPECT_FALSE(read_steps(text, first, last)) << text;
}

TEST(WatchWords, Slices) {
  std::vector<SliceStep> slice;
  ASSERT_TRUE(read_slice("0, :8, -1, 2::4", slice));
  ASSERT_EQ(slice.size(), 4u);
  EXPECT_TRUE(slice[0].is_index && slice[0].begin == 0);
  EXPECT_TRUE(!slice[1].is_index && slice[1].begin == 0 && slice[1].end == 8);
  EXPECT_TRUE(slice[2].is_index && slice[2].begin == -1);
  EXPECT_TRUE(slice[3].begin == 2 && slice[3].end == INT64_MAX && slice[3].every == 4);
  for (const char* text : {"", "0,", "a", "::0", "::-1", "1:2:3:4"}) {
    std::vector<SliceStep> refused;
    EXPECT_FALSE(read_slice(text, refused)) << text;
  }
}

TEST(WatchWords, PathsOfModules) {
  EXPECT_EQ(pattern_problem("model.**.fc[0]"), "");
  EXPECT_EQ(pattern_problem("model..fc"), "a segment is empty");
  EXPECT_EQ(pattern_problem("model.fc["), "'[' without ']'");
  EXPECT_EQ(pattern_problem("model.fc]"), "']' without '['");
  EXPECT_EQ(pattern_problem("model.a**"), "'**' must be a whole segment");
}

}  // namespace
}  // namespace tensorscope::rules
