// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace tensorscope {
namespace {

TEST(Utf8, CharactersAtTheLimitsOfEachLength) {
  const struct {
    const char* text;
    uint32_t code;
    size_t length;
  } rows[] = {{"a", 'a', 1},
              {"\x7f", 0x7f, 1},
              {"\xc2\x80", 0x80, 2},
              {"\xdf\xbf", 0x7ff, 2},
              {"\xe0\xa0\x80", 0x800, 3},
              {"\xed\x9f\xbf", 0xd7ff, 3},
              {"\xee\x80\x80", 0xe000, 3},
              {"\xef\xbf\xbf", 0xffff, 3},
              {"\xf0\x90\x80\x80", 0x10000, 4},
              {"\xf4\x8f\xbf\xbf", 0x10ffff, 4}};
  for (const auto& row : rows) {
    const std::string text = row.text;
    const Character character = first_character(text + "x");
    EXPECT_EQ(character.code, row.code);
    EXPECT_EQ(character.length, row.length);
    char encoded[4];
    EXPECT_EQ(std::string(encoded, encode_character(row.code, encoded)), text);
  }
}

TEST(Utf8, OtherBytes) {
  // A lone continuation, cut sequences, overlong forms, surrogates, beyond the last code point.
  for (const char* text :
       {"\x80", "\xbf", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3z"}) {
    const Character character = first_character(text);
    EXPECT_EQ(character.length, 0u) << text;
    EXPECT_EQ(character.code, uint8_t(text[0]));
  }
}

TEST(Utf8, TextsAreCutBetweenCharacters) {
  const std::string euros = "\xe2\x82\xac\xe2\x82\xac";  // two of three bytes
  const struct { size_t longest, kept; } rows[] = {{0, 0}, {1, 0}, {2, 0}, {3, 3}, {4, 3}, {5, 3}, {6, 6}, {9, 6}};
  for (const auto& row : rows) {
    EXPECT_EQ(text_beginning(euros, row.longest), euros.substr(0, row.kept));
    EXPECT_EQ(text_end(euros, row.longest), euros.substr(euros.size() - row.kept));
  }
  // Bytes that are no UTF-8 are not searched to their other end.
  const std::string bytes(100, '\x80');
  EXPECT_EQ(text_beginning(bytes, 50).size(), 47u);
  EXPECT_EQ(text_end(bytes, 50).size(), 47u);
}

TEST(Utf8, NothingActsOnTheTerminal) {
  std::string text = "a\x1b[0m\n\xc2\x9b\xe2\x80\xae\xc3\xa4\xff";
  silence_text(text.data(), text.size());
  EXPECT_EQ(text, "a?[0m??????\xc3\xa4\xff");
}

}  // namespace
}  // namespace tensorscope
