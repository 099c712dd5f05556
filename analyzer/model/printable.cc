#include "model/printable.h"

#include <cstdint>
#include <cstdio>

namespace tensorscope::model {

namespace {

// The code point at the head of `text` and its length in bytes; length 0 where the bytes are no UTF-8.
struct Point {
  uint32_t code;
  size_t length;
};

Point decode(std::string_view text) {
  auto byte = [&](size_t i) { return uint8_t(text[i]); };
  auto continued = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first >= 0xc2 && first < 0xe0 && continued(1)) return {uint32_t(first & 0x1f) << 6 | (byte(1) & 0x3fu), 2};
  if (first >= 0xe0 && first < 0xf0 && continued(1) && continued(2)) {
    uint32_t code = uint32_t(first & 0x0f) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    if (code >= 0x800 && (code < 0xd800 || code > 0xdfff)) return {code, 3};
  }
  if (first >= 0xf0 && first < 0xf5 && continued(1) && continued(2) && continued(3)) {
    uint32_t code = uint32_t(first & 0x07) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
    if (code >= 0x10000 && code <= 0x10ffff) return {code, 4};
  }
  return {first, 0};
}

bool acts(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f || code == 0x2028 ||
         code == 0x2029 || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  char escape[16];
  while (!text.empty()) {
    const Point point = decode(text);
    const size_t length = point.length ? point.length : 1;
    if (point.length == 0 || acts(point.code)) {
      std::snprintf(escape, sizeof escape, point.code < 0x100 ? "\\x%02x" : "\\u%04x", point.code);
      out += escape;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace tensorscope::model
