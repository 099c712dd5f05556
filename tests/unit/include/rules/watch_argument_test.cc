// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/watch_argument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WatchArgument, SourceCodeAndModules) {
  WatchSettings settings;
  read_watch_path("full:train.py:step:loss", "test", settings);
  read_watch_path("returns:model.attend", "test", settings);
  read_watch_path("inputs:model.forward.x", "test", settings);  // what was given to a module of that name
  ASSERT_EQ(settings.errors.size(), 0u);
  EXPECT_EQ(settings.watches[0].of, WatchOf::variables);
  EXPECT_TRUE(settings.watches[0].full);
  EXPECT_EQ(settings.watches[1].of, WatchOf::returns);
  EXPECT_EQ(settings.watches[2].of, WatchOf::inputs);
}

TEST(WatchArgument, SeveralWords) {
  WatchSettings settings;
  read_watch_path("full:hash:gradients:model.**", "--watch", settings);
  ASSERT_EQ(settings.watches.size(), 1u);
  const WatchSpec& watch = settings.watches[0];
  EXPECT_EQ(watch.text, "full:hash:gradients:model.**");
  EXPECT_EQ(watch.origin, "--watch");
  EXPECT_EQ(watch.of, WatchOf::gradients);
  EXPECT_TRUE(watch.full && watch.hash);
  EXPECT_THAT(watch.pattern, ElementsAre("model", "**"));
}

TEST(WatchArgument, Problems) {
  WatchSettings settings;
  read_watch_path("train:57:loss", "test", settings);
  read_watch_path("inputs:train.py:step:loss", "test", settings);
  ASSERT_EQ(settings.errors.size(), 2u);
  EXPECT_THAT(settings.errors[0].what, HasSubstr("'train:' is unknown"));
  EXPECT_THAT(settings.errors[1].what, HasSubstr("only of = \"returns\""));
  EXPECT_TRUE(settings.watches.empty());
}

}  // namespace
}  // namespace tensorscope::rules
