// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/watch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

using ::testing::HasSubstr;

TEST(WatchFile, APathSaysWhatIsWatched) {
  WatchSettings settings;
  read_watch_file("[[watch]]\npath = ['a.py:f', 'model.fc', 'a.py:f:x']\n", "w.toml", settings);
  read_watch_file("[[watch]]\npath = 'a.py:f:x'\nclass = 'Linear'\n", "w.toml", settings);
  ASSERT_EQ(settings.errors.size(), 1u);
  EXPECT_EQ(settings.errors[0].origin, "w.toml:2");
  ASSERT_EQ(settings.watches.size(), 3u);
  EXPECT_EQ(settings.watches[0].of, WatchOf::returns);
  EXPECT_EQ(settings.watches[1].of, WatchOf::automatic);
  EXPECT_EQ(settings.watches[2].of, WatchOf::variables);
}

TEST(WatchFile, OptionsOfTheFile) {
  WatchSettings settings;
  read_watch_file("flush = '5s'\nlimit = '2G'\nwhen_full = 'wait'\n[[watch]]\npath = 'model'\n", "w.toml", settings);
  EXPECT_TRUE(settings.errors.empty());
  EXPECT_EQ(settings.flush_ms, 5000u);
  EXPECT_EQ(settings.most_bytes, uint64_t{2} << 30);
  EXPECT_TRUE(settings.wait_when_full);
}

TEST(WatchFile, Problems) {
  WatchSettings settings;
  read_watch_file("[[watch]\n", "w.toml", settings);
  read_watch_file("flush = '5s'\n", "w.toml", settings);
  read_watch_file("[[watch]]\npath = 'model'\ncolour = 'red'\n", "w.toml", settings);
  ASSERT_EQ(settings.errors.size(), 3u);
  EXPECT_EQ(settings.errors[0].origin, "w.toml:1");
  EXPECT_EQ(settings.errors[1].what, "no [[watch]] table");
  EXPECT_THAT(settings.errors[2].what, HasSubstr("unknown key 'colour'"));
  EXPECT_EQ(settings.errors[2].origin, "w.toml:3");
  EXPECT_TRUE(settings.watches.empty());
}

}  // namespace
}  // namespace tensorscope::rules
