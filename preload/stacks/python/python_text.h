// SPDX-License-Identifier: Apache-2.0
// The text of a Python str object, read raw (Include/cpython/unicodeobject.h: the state word and the data behind it are
// laid out alike from 3.8 to 3.14 but for the data's offset).
//
// Context: hook, GIL not needed, as long as something keeps the str alive: a str never changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

struct PythonText {
  const void* data = nullptr;
  size_t length = 0;  // code points
  uint8_t width = 1;  // bytes a code point
};

// Empty for what is no compact str.
PythonText read_text(const void* str, const PythonLayout& layout);

// As UTF-8; a lone surrogate becomes U+FFFD, so that every reader of a dump can rely on valid UTF-8.
size_t utf8_size(const PythonText& text);
void write_utf8(const PythonText& text, char* out);  // utf8_size(text) bytes
bool equals_utf8(const PythonText& text, const char* utf8);

}  // namespace tensorscope::stacks
