// SPDX-License-Identifier: Apache-2.0
// UTF-8, as Unicode 15, table 3-7 has it: characters one by one, and texts that are cut between them.
//
// Context: any. No allocation, no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorscope {

// Whether a byte is not the first of its character.
constexpr bool continues_character(char byte) { return (uint8_t(byte) & 0xc0) == 0x80; }

struct Character {
  uint32_t code = 0;  // the byte itself where it is no UTF-8
  size_t length = 0;  // in bytes; 0: the text does not begin with UTF-8
};

// Of a text that is not empty.
constexpr Character first_character(std::string_view text) {
  const uint32_t lead = uint8_t(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || length > text.size()) return {lead, 0};
  uint32_t code = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!continues_character(text[i])) return {lead, 0};
    code = code << 6 | (uint8_t(text[i]) & 0x3fu);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return too_long || surrogate || code > 0x10ffff ? Character{lead, 0} : Character{code, length};
}

// Bytes written. `code` is a code point, and no surrogate.
constexpr size_t encode_character(uint32_t code, char (&out)[4]) {
  const auto byte = [](uint32_t value) { return char(uint8_t(value)); };
  const auto next = [&](int shift) { return byte(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out[0] = byte(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = byte(0xc0 | code >> 6), out[1] = next(0);
    return 2;
  }
  if (code < 0x10000) {
    out[0] = byte(0xe0 | code >> 12), out[1] = next(6), out[2] = next(0);
    return 3;
  }
  out[0] = byte(0xf0 | code >> 18), out[1] = next(12), out[2] = next(6), out[3] = next(0);
  return 4;
}

// Whether a terminal does something when it gets this: control characters (C0, DEL, C1), line separators, marks and
// overrides of direction.
constexpr bool acts_on_terminal(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f || code == 0x2028 ||
         code == 0x2029 || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

// Puts a '?' in the place of each byte of such a character. What is no UTF-8 stays: paths are bytes.
constexpr void silence_text(char* text, size_t size) {
  for (size_t at = 0; at < size;) {
    const Character character = first_character({text + at, size - at});
    const size_t end = at + (character.length != 0 ? character.length : 1);
    const bool acts = character.length != 0 && acts_on_terminal(character.code);
    for (; at < end; ++at) {
      if (acts) text[at] = '?';
    }
  }
}

// The longest beginning of the text that is not longer than this and ends between characters.
constexpr std::string_view text_beginning(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text;
  constexpr size_t kMaxContinued = 3;  // more are no UTF-8
  size_t end = longest;
  while (end > 0 && longest - end < kMaxContinued && continues_character(text[end])) --end;
  return text.substr(0, end);
}

// The same of its end.
constexpr std::string_view text_end(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text;
  constexpr size_t kMaxContinued = 3;
  const size_t most = text.size() - longest;
  size_t begin = most;
  while (begin < text.size() && begin - most < kMaxContinued && continues_character(text[begin])) ++begin;
  return text.substr(begin);
}

}  // namespace tensorscope
