// SPDX-License-Identifier: Apache-2.0
#include "text/text.h"

#include <algorithm>
#include <cstdint>

#include "support/printable.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::text {

namespace {

struct Range {
  uint32_t first, last;
};
// Unicode 15: combining and invisible characters (width 0), East Asian wide and emoji (width 2). Whole blocks, not
// single code points: a column more or less does not matter, a table that shifts by twenty does.
constexpr Range kZeroWidth[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
                                {0x064b, 0x065f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},
                                {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
                           {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                           {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
template <size_t N>
bool in(const Range (&ranges)[N], uint32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](Range r) { return c >= r.first && c <= r.last; });
}

// The character at `at` of clean text.
Character decode(std::string_view text, size_t at) {
  const Character character = first_character(text.substr(at));
  return {character.code, character.length != 0 ? character.length : 1};
}

int width_of(uint32_t c) { return in(kZeroWidth, c) ? 0 : in(kWide, c) ? 2 : 1; }

// The longest prefix of at most `width` columns.
std::string_view prefix(std::string_view text, int width) {
  size_t at = 0;
  while (at < text.size()) {
    const Character c = decode(text, at);
    width -= width_of(c.code);
    if (width < 0) break;
    at += c.length;
  }
  return text.substr(0, at);
}

std::string_view suffix(std::string_view text, int width) {
  int extra = columns(text) - width;
  size_t at = 0;
  while (at < text.size() && extra > 0) {
    const Character c = decode(text, at);
    extra -= width_of(c.code);
    at += c.length;
  }
  // A combining mark does not begin a text.
  while (at < text.size() && width_of(decode(text, at).code) == 0) at += decode(text, at).length;
  return text.substr(at);
}

}  // namespace

std::string clean(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '\t', ' ');
  return analyzer::printable(spaced);
}

int columns(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) {
    const Character c = decode(text, at);
    width += width_of(c.code);
    at += c.length;
  }
  return width;
}

std::string cut(std::string_view text, int width, Cut where) {
  if (columns(text) <= width) return std::string(text);
  if (width <= 3) return std::string("...").substr(0, size_t(std::max(width, 0)));
  int room = width - 3;
  switch (where) {
    case Cut::end:
      return std::string(prefix(text, room)) + "...";
    case Cut::start:
      return "..." + std::string(suffix(text, room));
    case Cut::middle:
      break;
  }
  return std::string(prefix(text, room / 2)) + "..." + std::string(suffix(text, room - room / 2));
}

std::string wrap(std::string_view text, int width, int indent) {
  std::string result;
  int used = 0;
  bool line_empty = true;
  for (size_t at = 0; at < text.size();) {
    size_t space = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, space - at);
    int needed = columns(word);
    if (width > 0 && !line_empty && used + 1 + needed > width) {
      result += "\n" + std::string(size_t(indent), ' ');
      used = indent;
      line_empty = true;
    }
    if (!line_empty) {
      result += ' ';
      ++used;
    }
    result += word;
    used += needed;
    line_empty = false;
    at = space + 1;
  }
  return result;
}

}  // namespace tensorscope::text
