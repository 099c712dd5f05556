// SPDX-License-Identifier: Apache-2.0
#include "symbols/function_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "tensorscope/rules/headline.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxSymbol = 16'384, kMaxFunction = 512;

}  // namespace

std::string without_parameters(std::string_view text) {
  std::string out(rules::without_parameters(text));
  if (out.size() > kMaxFunction) out = std::string(text_beginning(out, kMaxFunction)) + "...";
  return out;
}

std::string readable_function(const std::string& symbol) {
  if (symbol.starts_with("_Z") && symbol.size() <= kMaxSymbol) {
    int status = 0;
    char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    std::string out = text && status == 0 ? without_parameters(text) : "";
    std::free(text);
    if (!out.empty()) return out;
  }
  return symbol.substr(0, std::min(symbol.find_first_of(".@", 1), kMaxFunction));
}

}  // namespace tensorscope::analyzer
