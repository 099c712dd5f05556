// SPDX-License-Identifier: Apache-2.0
#include "support/dotted_path.h"

#include <algorithm>

namespace tensorscope::analyzer {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('.', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool within(std::string_view inner, std::string_view outer) {
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '.');
}

std::string with_wildcards(std::string_view path) {
  std::string result;
  for (std::string_view part : path_parts(path)) {
    if (part.data() != path.data()) result += '.';
    result += is_number(part) ? "*" : part;
  }
  return result;
}

}  // namespace tensorscope::analyzer
