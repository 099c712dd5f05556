// Cuts a UTF-8 text, but no character of it.
//
// Context: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorscope {

// Whether a byte is not the first of its character.
constexpr bool continues_character(char byte) { return (uint8_t(byte) & 0xc0) == 0x80; }

// The longest beginning of the text that is not longer than this.
constexpr std::string_view text_beginning(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && continues_character(text[longest])) --longest;
  return text.substr(0, longest);
}

}  // namespace tensorscope
