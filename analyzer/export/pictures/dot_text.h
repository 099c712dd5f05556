// SPDX-License-Identifier: Apache-2.0
// A text in Graphviz' language.
#pragma once

#include <string>
#include <vector>

#include "text/text.h"

namespace tensorscope::exports {

inline constexpr size_t kLongestDotLine = 80;

// The lines of a label, between quotation marks.
inline std::string dot_quoted(const std::vector<std::string>& lines) {
  std::string result = "\"";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += "\\n";
    for (char c : text::cut(text::clean(lines[i]), int(kLongestDotLine), text::Cut::middle)) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace tensorscope::exports
