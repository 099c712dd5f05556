// SPDX-License-Identifier: Apache-2.0
// A table of words for the values of an enumeration, checked by the compiler to have each value.
#pragma once

#include <cstddef>

namespace tensorscope::analyzer {

template <typename Enum>
struct EnumWords {
  Enum value;
  const char* words;
};

// Whether the rows are all values up to `last`, in their order, so that a value is the index of its row.
template <typename Enum, size_t kRows>
constexpr bool has_each(const EnumWords<Enum> (&rows)[kRows], Enum last) {
  for (size_t i = 0; i < kRows; ++i) {
    if (size_t(rows[i].value) != i) return false;
  }
  return kRows == size_t(last) + 1;
}

}  // namespace tensorscope::analyzer
