// SPDX-License-Identifier: Apache-2.0
#include "top/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/reader.h"
#include "unit/analyzer/questions_fixture.h"

namespace tensorscope::top {
namespace {

using analyzer::GroupBy;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A program of which each line of train.py, from 1 on, holds so many floats.
std::shared_ptr<analyzer::OpenedDump> sample(const std::vector<uint64_t>& floats_of_lines, uint64_t second = 1) {
  testing::DumpBuilder builder;
  builder.working_directory = "/x";
  builder.dump_ns = second * 1'000'000'000;
  for (size_t i = 0; i < floats_of_lines.size(); ++i) {
    const uint32_t site = builder.site(0, builder.python({{"/x/train.py", "main", int32_t(i + 1)}}));
    if (floats_of_lines[i] != 0) testing::owned(builder, int64_t(floats_of_lines[i]), site);
  }
  const std::string bytes = builder.bytes();
  return std::make_shared<analyzer::OpenedDump>(analyzer::read_dump_bytes(bytes.data(), bytes.size(), "memory"),
                                                analyzer::SymbolOptions());
}

std::vector<std::string> rows_of(TopView& view, size_t most = 20) {
  std::vector<std::string> rows;
  for (const TopRow& row : view.screen(most).rows) {
    rows.push_back(row.label.substr(0, row.label.find(' ')) + " " + std::to_string(row.bytes / 4) + " " +
                   std::to_string(row.growth / 4));
  }
  return rows;
}

TEST(TopView, GrowthIsSinceTheMark) {
  TopView view(GroupBy::line, TopSort::bytes, "");
  EXPECT_TRUE(view.empty());
  view.take(sample({100, 200, 0}));
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:2 200 0", "train.py:1 100 0"));
  view.take(sample({50, 200, 400}, 4));
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:3 400 400", "train.py:2 200 0", "train.py:1 50 -50"));
  const TopHead head = view.screen(20).head;
  EXPECT_EQ(head.growth, 350 * 4);
  EXPECT_EQ(head.mark_age_ns, 3'000'000'000u);
  view.mark();
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:3 400 0", "train.py:2 200 0", "train.py:1 50 0"));
}

TEST(TopView, RowsAreInTheOrderThatIsChosen) {
  TopView view(GroupBy::line, TopSort::growth, "");
  view.take(sample({100, 200, 0}));
  view.take(sample({150, 200, 20}));
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:1 150 50", "train.py:3 20 20", "train.py:2 200 0"));
  view.next_sort();  // by the number of tensors, which is the same: by bytes
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:2 200 0", "train.py:1 150 50", "train.py:3 20 20"));
  view.next_sort();
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:1 150 50", "train.py:2 200 0", "train.py:3 20 20"));
}

TEST(TopView, AFilterLeavesRowsOutAndNotTheirBytes) {
  TopView view(GroupBy::line, TopSort::bytes, "TRAIN.PY:2");
  view.take(sample({100, 200}));
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:2 200 0"));
  EXPECT_EQ(view.screen(20).total, 300u * 4);
  view.set_filter("nothing has this");
  EXPECT_THAT(rows_of(view), IsEmpty());
}

TEST(TopView, ScrollingEndsAtTheLastRow) {
  TopView view(GroupBy::line, TopSort::bytes, "");
  view.take(sample({500, 400, 300, 200, 100}));
  EXPECT_EQ(rows_of(view, 2).front(), "train.py:1 500 0");
  view.scroll(2);
  EXPECT_THAT(rows_of(view, 2), ElementsAre("train.py:3 300 0", "train.py:4 200 0"));
  view.scroll(99);
  EXPECT_THAT(rows_of(view, 2), ElementsAre("train.py:5 100 0"));
  view.scroll(-99);
  EXPECT_EQ(rows_of(view, 2).front(), "train.py:1 500 0");
}

// Rows may go while the last of them are on the screen.
TEST(TopView, FewerRowsThanWereScrolledOverLeaveTheLast) {
  TopView view(GroupBy::line, TopSort::bytes, "");
  view.take(sample({500, 400, 300, 200, 100}));
  view.scroll(4);
  view.take(sample({500, 400}));
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:2 400 0"));
  const TopHead head = view.screen(20).head;
  EXPECT_EQ(head.first, 1u);
  EXPECT_EQ(head.shown, 1u);
  view.take(sample({}));
  EXPECT_THAT(rows_of(view), IsEmpty());
  view.take(sample({500}));
  EXPECT_THAT(rows_of(view), ElementsAre("train.py:1 500 0"));
}

}  // namespace
}  // namespace tensorscope::top
