// SPDX-License-Identifier: Apache-2.0
#include "support/printable.h"

#include <cstdio>

#include "tensorscope/rules/utf8.h"

namespace tensorscope::analyzer {

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  char escape[16];
  while (!text.empty()) {
    const Character point = first_character(text);
    const size_t length = point.length ? point.length : 1;
    if (point.length == 0 || acts_on_terminal(point.code)) {
      std::snprintf(escape, sizeof escape, point.code < 0x100 ? "\\x%02x" : "\\u%04x", point.code);
      out += escape;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace tensorscope::analyzer
