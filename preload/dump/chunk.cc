// SPDX-License-Identifier: Apache-2.0
#include "dump/chunk.h"

#include "tensorscope/rules/utf8.h"

namespace tensorscope::dump {

bool Chunk::is_utf8(const char* text, size_t length) {
  for (size_t i = 0; i < length;) {
    const size_t step = first_character({text + i, length - i}).length;
    if (step == 0) return false;
    i += step;
  }
  return true;
}

std::string Chunk::as_utf8(const char* text, size_t length) {
  std::string out;
  for (size_t i = 0; i < length;) {
    const size_t step = first_character({text + i, length - i}).length;
    if (step == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
    } else {
      out.append(text + i, step);
      i += step;
    }
  }
  return out;
}

}  // namespace tensorscope::dump
