// SPDX-License-Identifier: Apache-2.0
#include "top/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/text.h"

namespace tensorscope::top {
namespace {

using ::testing::HasSubstr;

TopHead head() {
  TopHead head;
  head.process = "train.py, pid 42";
  head.live = 3 << 20;
  head.tensors = 7;
  head.growth = -1024;
  head.mark_age_ns = 5'000'000'000;
  head.devices = {{"cpu", 3 << 20, 4 << 20, 0}, {"cuda:0", 1 << 20, 1 << 20, 2 << 20}};
  head.cost = {1'000'000, 9'000'000};
  head.interval_ns = 2'000'000'000;
  head.by = "line";
  head.sort = "bytes";
  head.rows = 30;
  head.first = 10;
  head.shown = 5;
  return head;
}

TEST(TopText, SaysWhatARefreshCostsTheProgram) {
  const std::vector<std::string> lines = top_head(head(), {});
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "3.0 MiB live in 7 tensors, -1.0 KiB since the mark 5.0 s ago");
  EXPECT_THAT(lines[2], HasSubstr("cuda:0 1.0 MiB, peak 1.0 MiB, reserved 2.0 MiB"));
  EXPECT_EQ(lines[3],
            "every 2.0 s; a refresh costs the program 10 ms (1 ms paused, 9 ms with Python's lock), 0.5 % of its time");
  EXPECT_EQ(lines[4], "by line, sorted by bytes; 11 to 15 of 30");
}

TEST(TopText, NamesThatAreLookedUpSeldomHaveTheirOwnCostAndAge) {
  TopHead seldom = head();
  seldom.names_interval_ns = 90'000'000'000;
  seldom.names = {12'000'000'000, 41};
  const std::vector<std::string> lines = top_head(seldom, {});
  EXPECT_EQ(lines[3],
            "every 2.0 s; 0.1 % of the program's time: 1 ms paused; names every 1m30s: 9 ms with Python's lock");
  EXPECT_EQ(lines[4], "by line, sorted by bytes; names 12.0 s old, 41 tensors newer; 11 to 15 of 30");
}

TEST(TopText, LinesFitTheTerminalAndHoldNoControlCharacters) {
  TopHead wide = head();
  wide.process = std::string(300, 'x');
  wide.filter = "\033[2J";
  for (const std::string& line : top_head(wide, {.width = 40})) {
    EXPECT_LE(text::columns(line), 40);
    EXPECT_EQ(line.find('\033'), std::string::npos);
  }
  EXPECT_EQ(top_keys(20), "q quit   s sort");
}

TEST(TopText, GrowthIsSigned) {
  const std::vector<std::string> lines =
      top_table({{"a.py:1", 2048, 3, 1024}, {"b.py:2", 1024, 1, 0}}, 3072, "line", {});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "2.0 KiB  67 %    +1.0 KiB        3  a.py:1");
  EXPECT_EQ(lines[2], "1.0 KiB  33 %           -        1  b.py:2");
}

}  // namespace
}  // namespace tensorscope::top
