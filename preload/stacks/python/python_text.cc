// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_text.h"

#include <cstring>

#include "tensorscope/rules/utf8.h"

namespace tensorscope::stacks {

namespace {

constexpr size_t kLengthOffset = 16;  // PyASCIIObject.length
constexpr size_t kStateOffset = 32;   // PyASCIIObject.state: interned:2, kind:3, compact:1, ascii:1

uint32_t code_point(const PythonText& text, size_t index) {
  uint32_t point = 0;
  std::memcpy(&point, static_cast<const char*>(text.data) + index * text.width, text.width);
  bool surrogate = point >= 0xd800 && point < 0xe000;
  return surrogate || point > 0x10ffff ? 0xfffd : point;
}

}  // namespace

PythonText read_text(const void* str, const PythonLayout& layout) {
  const char* bytes = static_cast<const char*>(str);
  if (bytes == nullptr) return {};
  uint32_t state;
  std::memcpy(&state, bytes + kStateOffset, sizeof state);
  unsigned kind = state >> 2 & 7;
  bool compact = (state >> 5 & 1) != 0, ascii = (state >> 6 & 1) != 0;
  if (!compact || (kind != 1 && kind != 2 && kind != 4)) return {};
  PythonText text;
  std::memcpy(&text.length, bytes + kLengthOffset, sizeof text.length);
  text.data = bytes + (ascii ? layout.text_ascii : layout.text_other);
  text.width = uint8_t(kind);
  return text;
}

size_t utf8_size(const PythonText& text) {
  size_t size = 0;
  char encoded[4];
  for (size_t i = 0; i < text.length; ++i) size += encode_character(code_point(text, i), encoded);
  return size;
}

void write_utf8(const PythonText& text, char* out) {
  char encoded[4];
  for (size_t i = 0; i < text.length; ++i) {
    size_t size = encode_character(code_point(text, i), encoded);
    std::memcpy(out, encoded, size);
    out += size;
  }
}

bool equals_utf8(const PythonText& text, const char* utf8) {
  char encoded[4];
  for (size_t i = 0; i < text.length; ++i) {
    size_t size = encode_character(code_point(text, i), encoded);
    if (std::strncmp(utf8, encoded, size) != 0) return false;
    utf8 += size;
  }
  return *utf8 == '\0';
}

}  // namespace tensorscope::stacks
