// SPDX-License-Identifier: Apache-2.0
// Copies a text into a buffer of fixed size, cut between characters to fit, with a zero at its end.
//
// Context: any.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "tensorscope/rules/utf8.h"

namespace tensorscope {

template <size_t N>
void copy_text(std::string_view text, char (&out)[N]) {
  text = text_beginning(text, N - 1);
  memcpy(out, text.data(), text.size());
  out[text.size()] = 0;
}

}  // namespace tensorscope
