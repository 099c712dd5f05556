// SPDX-License-Identifier: Apache-2.0
// Which frame stands for a whole stack, and what its function is called: the innermost frame of the user's own code,
// else of an installed library, else of what is left.
//
// Context: any. No allocation, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensorscope/rules/user_code.h"

namespace tensorscope::rules {

// Of a Python stack whose frames are numbered, 0 being none: the number. `owner_of(id)`: code::Owner.
template <typename ParentOf, typename OwnerOf>
uint32_t python_headline(uint32_t leaf, ParentOf parent_of, OwnerOf owner_of) {
  uint32_t library = 0;
  for (uint32_t id = leaf; id != 0; id = parent_of(id)) {
    const code::Owner owner = owner_of(id);
    if (owner == code::Owner::user) return id;
    if (owner == code::Owner::library && library == 0) library = id;
  }
  return library != 0 ? library : leaf;
}

// The function that a frame's line is written in: that of a comprehension is its caller's, where its own name does not
// tell. `name_of(id)`: of its code object.
template <typename ParentOf, typename NameOf>
std::string_view function_around(uint32_t id, bool qualified, ParentOf parent_of, NameOf name_of) {
  for (;; id = parent_of(id)) {
    const std::string_view name = name_of(id);
    const std::string_view around = code::enclosing_function(name, qualified);
    if (!around.empty() || !code::is_comprehension(name) || parent_of(id) == 0) return around;
  }
}

// The headline of a native stack. Its frames are added one by one, innermost first.
class NativeHeadline {
 public:
  // `object`: file name of what holds the code, "" if it is not known. True: this frame it is, others say nothing more.
  bool add(std::string_view object, std::string_view function, std::string_view file = "") {
    const size_t at = count_++;
    if (!object.empty() && !code::is_process_start(function)) {
      const code::Owner owner = code::native_owner(object, function, file);
      if (owner == code::Owner::user) {
        user_ = at;
        return true;
      }
      if (owner == code::Owner::library && library_ == kNone) library_ = at;
    }
    if (function.empty() || code::is_observed(function)) return false;
    if (named_ == kNone) named_ = at;
    // All of it is torch's, as on a device's backward thread: the operation says more than the allocator it called.
    if (operation_ == kNone && !code::is_allocator(function)) operation_ = at;
    return false;
  }

  // Returns the frame's index in the order of adding, 0 if there are none.
  size_t frame() const {
    for (const size_t at : {user_, library_, operation_, named_}) {
      if (at != kNone) return at;
    }
    return 0;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  size_t count_ = 0;
  size_t user_ = kNone, library_ = kNone, operation_ = kNone, named_ = kNone;
};

// What the frame's function is called wherever it stands for its stack, as text and in a field of its own: `scope` and
// `name`. A whole stack shows the dispatcher's steps; what stands for it is the operation that they lead to.
struct HeadlineFunction {
  std::string_view scope, name;
};
inline HeadlineFunction headline_function(std::string_view function) {
  const std::string_view operation = code::dispatched_operation(function);
  return operation.empty() ? HeadlineFunction{"", function} : HeadlineFunction{"aten::", operation};
}

namespace detail {

constexpr bool is_word_of_symbol(char c) {
  return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

// Length of "operator" and its sign at `at`, whose brackets are no brackets; 0 where there is none.
constexpr size_t operator_at(std::string_view text, size_t at) {
  constexpr std::string_view kOperator = "operator";
  if (text.substr(at, kOperator.size()) != kOperator || (at > 0 && is_word_of_symbol(text[at - 1]))) return 0;
  size_t end = at + kOperator.size();
  if (end < text.size() && is_word_of_symbol(text[end])) return 0;
  if (text.substr(end, 2) == "()" || text.substr(end, 2) == "[]") return end + 2 - at;
  while (end < text.size() && std::string_view("<>=-!+*/%^&|~,").find(text[end]) != text.npos) end++;
  return end - at;
}

}  // namespace detail

// A demangled C++ function without parameters and type: "at::native::add" of "at::Tensor at::native::add(at::Tensor)".
constexpr std::string_view without_parameters(std::string_view text) {
  text = text.substr(0, text.find(" [clone "));
  // One pass from the left: where the name's last component begins and ends, with everything in brackets skipped.
  size_t begin = 0, end = text.size();
  int depth = 0;
  bool in_operator = false;
  for (size_t i = 0; i < text.size();) {
    if (const size_t length = detail::operator_at(text, i)) {
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
      std::string_view rest = text.substr(close + 1 < text.size() ? close + 1 : text.size());
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
  std::string_view name = text.substr(begin, end > begin ? end - begin : text.npos);
  while (name.ends_with(' ')) name.remove_suffix(1);
  return name.empty() ? text : name;
}

}  // namespace tensorscope::rules
