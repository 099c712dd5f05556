// SPDX-License-Identifier: Apache-2.0
#include "text/text.h"

#include <gtest/gtest.h>

namespace tensorscope::text {
namespace {

TEST(Text, CleanLeavesNothingThatATerminalActsUpon) {
  std::string text = clean("a\033[2J\r\nb\tc\x7f\xff");
  for (char c : text) EXPECT_TRUE(uint8_t(c) >= 0x20 && c != 0x7f) << int(c);
  EXPECT_EQ(clean("a\tb"), "a b");
  EXPECT_EQ(clean("größe 模型"), "größe 模型");
}

TEST(Text, ColumnsCountWhatIsSeen) {
  EXPECT_EQ(columns("abc"), 3);
  EXPECT_EQ(columns("größe"), 5);
  EXPECT_EQ(columns("模型"), 4);
  EXPECT_EQ(columns("e\u0301"), 1);
}

TEST(Text, CutKeepsWholeCharactersAndTheWidth) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdefg", 6), "abc...");
  EXPECT_EQ(cut("abcdefg", 6, Cut::start), "...efg");
  EXPECT_EQ(cut("abcdefghij", 7, Cut::middle), "ab...ij");
  EXPECT_EQ(cut("模型模型", 6), "模...");  // half a wide character does not fit
  EXPECT_EQ(cut("模型模型", 6, Cut::start), "...型");
  EXPECT_EQ(cut("abcdef", 2), "..");
  EXPECT_EQ(cut("abcdef", 0), "");
}

TEST(Text, WrapBreaksAtSpaces) {
  EXPECT_EQ(wrap("one two three", 0, 2), "one two three");
  EXPECT_EQ(wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrap("longerthanthat x", 4, 2), "longerthanthat\n  x");
}

}  // namespace
}  // namespace tensorscope::text
