// Copies a text into a buffer of fixed size, cut to fit, with a zero at its end.
//
// Context: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace tensorscope {

template <size_t N>
void copy_text(std::string_view text, char (&out)[N]) {
  const size_t length = std::min(text.size(), N - 1);
  memcpy(out, text.data(), length);
  out[length] = 0;
}

}  // namespace tensorscope
