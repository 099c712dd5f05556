// SPDX-License-Identifier: Apache-2.0
// A file's name as it is typed into a shell.
#pragma once

#include <string>
#include <string_view>

namespace tensorscope::text {

// As it is where a shell would leave it alone, else between single quotes.
inline std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace tensorscope::text
