// SPDX-License-Identifier: Apache-2.0
#include "support/printable.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

TEST(Printable, TextStaysText) {
  EXPECT_EQ(printable("train.py: größe 模型 😀"), "train.py: größe 模型 😀");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, NothingReachesTheTerminal) {
  EXPECT_EQ(printable("\x1b]0;owned\x07"), "\\x1b]0;owned\\x07");
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\x0ab\\x0dc\\x09d");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // C1 control sequence introducer
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "evil"),
            "\\u202eevil");  // right-to-left override
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, InvalidUtf8IsShownByteByByte) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

}  // namespace
}  // namespace tensorscope::analyzer
