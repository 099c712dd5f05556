#include "model/function_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace tensorscope::model {

namespace {

constexpr size_t kMaxSymbol = 16'384, kMaxFunction = 512;

bool word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Length of "operator" and its sign at `at`, whose brackets are no brackets; 0 where there is none.
size_t operator_at(std::string_view text, size_t at) {
  constexpr std::string_view kOperator = "operator";
  if (text.substr(at, kOperator.size()) != kOperator || (at > 0 && word(text[at - 1]))) return 0;
  size_t end = at + kOperator.size();
  if (end < text.size() && word(text[end])) return 0;
  if (text.substr(end, 2) == "()" || text.substr(end, 2) == "[]") return end + 2 - at;
  while (end < text.size() && std::string_view("<>=-!+*/%^&|~,").find(text[end]) != text.npos) end++;
  return end - at;
}

}  // namespace

std::string without_parameters(std::string_view text) {
  text = text.substr(0, text.find(" [clone "));
  // One pass from the left: where the name's last component begins and ends, with everything in brackets skipped.
  size_t begin = 0, end = text.size();
  int depth = 0;
  bool in_operator = false;
  for (size_t i = 0; i < text.size();) {
    if (size_t length = operator_at(text, i)) {
      in_operator = depth == 0;  // what follows may be a type with spaces: operator unsigned long
      i += length;
      continue;
    }
    const char c = text[i];
    if (depth == 0 && c == '(') {
      constexpr std::string_view kAnonymous = "(anonymous namespace)";
      if (text.substr(i, kAnonymous.size()) == kAnonymous) {
        i += kAnonymous.size();
        continue;
      }
      // Parameters end the name, unless it goes on: f(int)::{lambda(int)#1}::operator()(int) const, decltype(x) f(int).
      size_t close = i, nesting = 0;
      for (; close < text.size(); close++) {
        if (text[close] == '(') nesting++;
        if (text[close] == ')' && --nesting == 0) break;
      }
      std::string_view rest = text.substr(std::min(close + 1, text.size()));
      for (std::string_view qualifier : {" const", " volatile", " &&", " &"}) {
        if (rest.starts_with(qualifier)) rest.remove_prefix(qualifier.size());
      }
      const bool type_follows = text.substr(begin, i - begin) == "decltype";
      if (!rest.starts_with("::") && !type_follows) {
        end = i;
        break;
      }
      i = text.size() - rest.size();
      continue;
    }
    if (c == '<' || c == '(' || c == '{' || c == '[') depth++;
    if (c == '>' || c == ')' || c == '}' || c == ']') depth -= depth > 0;
    if (depth == 0 && c == ' ' && !in_operator) begin = i + 1;
    if (depth == 0 && c == ':') in_operator = false;
    i++;
  }
  std::string out(text.substr(begin, end > begin ? end - begin : text.npos));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (out.empty()) out = text;
  if (out.size() > kMaxFunction) out = out.substr(0, kMaxFunction) + "...";
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

}  // namespace tensorscope::model
