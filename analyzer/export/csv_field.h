// SPDX-License-Identifier: Apache-2.0
// A field of a CSV file: in quotation marks where it needs them.
#pragma once

#include <string>

namespace tensorscope::exports {

inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace tensorscope::exports
