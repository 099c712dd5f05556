// SPDX-License-Identifier: Apache-2.0
#include "oom/unqualified.h"

#include <cstddef>

namespace tensorscope::oom {

std::string_view unqualified(const char* mangled) {
  std::string_view last, rest = mangled;
  if (rest.starts_with("N")) rest.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!rest.empty() && is_digit(rest[0])) {
    size_t length = 0;
    while (!rest.empty() && is_digit(rest[0]) && length < rest.size()) {
      length = length * 10 + size_t(rest[0] - '0');
      rest.remove_prefix(1);
    }
    if (length == 0 || length > rest.size()) break;
    last = rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return last;
}

}  // namespace tensorscope::oom
