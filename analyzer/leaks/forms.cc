// SPDX-License-Identifier: Apache-2.0
#include "leaks/forms.h"

#include <algorithm>
#include <regex>

#include "support/dotted_path.h"
#include "tensorscope/rules/watch_path.h"

namespace tensorscope::analyzer {

namespace {

// "head.next.next.next.value" is "head.next*.value": a chain of objects is a container, too.
std::string without_repetition(const std::string& text) {
  std::string result, last;
  bool repeated = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('.', at + 1), text.size());
    const std::string part = text.substr(at, end - at);
    if (part == last && part[0] == '.') {
      if (!repeated) result += '*';
      repeated = true;
    } else {
      result += part;
      repeated = false;
    }
    last = part;
    at = end;
  }
  return result;
}

// "['outputs']", "[3]", "['mask']" of "state['outputs'][3]['mask']".
std::vector<std::string> indexes_of(const std::string& text) {
  std::vector<std::string> result;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[' && depth++ == 0) begin = at;
    if (text[at] == ']' && depth > 0 && --depth == 0) result.push_back(text.substr(begin, at + 1 - begin));
  }
  return result;
}

constexpr std::string_view kGap = " ... ";

// The whole parts of this beginning of a text; of a key that was cut its brackets.
std::string whole_parts_before(std::string_view text) {
  size_t end = 0;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (depth == 0 && (text[at] == '.' || text[at] == '[')) end = at;
    if (text[at] == '[') ++depth;
    if (text[at] == ']' && depth > 0 && --depth == 0) end = at + 1;
  }
  return std::string(text.substr(0, end)) + (depth > 0 ? "[]" : "");
}

// Where the first whole part of this end of a text begins: behind a key that was cut, else at the first attribute.
size_t whole_parts_begin(std::string_view text) {
  size_t begin = std::string_view::npos;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '.' && depth == 0) begin = std::min(begin, at);
    if (text[at] == '[') ++depth;
    if (text[at] != ']') continue;
    if (depth == 0) begin = at + 1;
    depth = std::max(depth - 1, 0);
  }
  return std::min(begin, text.size());
}

// A long text was cut in the middle of a name or key, at another letter in each depth of a chain: what is whole of it
// is the same in all.
std::string without_cut_parts(const std::string& text) {
  const size_t gap = text.find(kGap);
  if (gap == std::string::npos) return text;
  const std::string_view tail = std::string_view(text).substr(gap + kGap.size());
  return whole_parts_before(std::string_view(text).substr(0, gap)) + std::string(tail.substr(whole_parts_begin(tail)));
}

// "preview.<_tee_dataobject>.<Tensor>" is "preview*": objects of C whose fields have no names hold any number of them.
std::string without_nameless_fields(std::string form) {
  const size_t whole = form.size();
  while (form.ends_with('>')) {
    const size_t begin = form.rfind(".<");
    if (begin == std::string::npos || begin == 0 || form.find('.', begin + 1) != std::string::npos) break;
    form.resize(begin);
  }
  return form.size() == whole || form.ends_with('*') ? form : form + "*";
}

// "names (key)" and "seen{Tensor}" are "names*" and "seen*": keys of a dict and members of a set, which are all written
// alike.
std::string without_keys_and_members(const std::string& text) {
  std::string result;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') ++depth;
    if (text[at] == ']') depth = std::max(depth - 1, 0);
    const bool key = depth == 0 && text.compare(at, 5, " (key") == 0;
    const size_t end = text.find(key ? ')' : '}', at);
    if ((key || (depth == 0 && text[at] == '{')) && end != std::string::npos) {
      result += '*';
      at = end;
    } else {
      result += text[at];
    }
  }
  return result;
}

}  // namespace

std::string without_indexes(const std::string& whole) {
  const std::string text = without_keys_and_members(without_cut_parts(whole));
  std::string result;
  int depth = 0;
  for (char c : text) {
    if (c == ']' && depth > 0 && --depth == 0) result += "*";
    if (depth == 0) result += c;
    if (c == '[') ++depth;
  }
  return without_repetition(without_nameless_fields(std::move(result)));
}

std::string with_any_index(const std::string& text) {
  static const std::regex kIndex(R"(\[[0-9]+\])");
  return std::regex_replace(text, kIndex, "[*]");
}

std::string without_thread(const std::string& scope) {
  constexpr std::string_view kThread = "thread ";
  for (size_t at = scope.find(kThread); at != std::string::npos; at = scope.find(kThread, at + 1)) {
    if (at == 0 || scope.compare(at - std::min<size_t>(at, 2), 2, ", ") == 0) {
      return scope.substr(0, at + kThread.size()) + "*";
    }
  }
  return scope;
}

std::string with_any_handler(const std::string& form) {
  size_t end = form.size();
  for (const std::string_view what : {".__self__", ".args", ".kwargs", ": "}) {
    if (const size_t at = form.find(what); at != std::string::npos) end = std::min(end, at + what.size());
  }
  return form.substr(0, end) + "*" + form.substr(end);
}

bool names_one(const std::string& text) { return !text.ends_with('>') && without_keys_and_members(text) == text; }

std::string container_of(const std::string& form) { return form.substr(0, form.find('*')); }

std::string owner_of(const std::string& form) {
  const std::string container = container_of(form);
  return container.substr(0, container.find_last_not_of("[{.") + 1);
}

std::string nearest_to_root(std::string_view text) {
  bool in_function = false;
  for (const std::string_view prefix : {"closure of ", "default of "}) {
    while (text.starts_with(prefix)) {
      text.remove_prefix(prefix.size());
      in_function = true;
    }
  }
  const size_t function = in_function ? text.find(": ") : std::string_view::npos;
  text = text.substr(0, function);
  const size_t variable = text.find_first_of(".[{");
  if (variable == std::string_view::npos || text[variable] != '.') return std::string(text.substr(0, variable));
  return std::string(text.substr(0, text.find_first_of(".[{", variable + 1)));
}

std::string without_variable_of_function(const std::string& text) {
  for (const std::string_view prefix : {"closure of ", "default of "}) {
    const size_t end = text.rfind(": ");
    if (text.starts_with(prefix) && end != std::string::npos) return text.substr(prefix.size(), end - prefix.size());
  }
  return text;
}

bool leads_from(const std::string& owner, const std::string& text) {
  if (!text.starts_with(owner)) return false;
  return text.size() == owner.size() || std::string_view(".[{ ").find(text[owner.size()]) != std::string_view::npos;
}

bool fits(const std::string& form, const std::string& pattern) {
  if (form == pattern) return true;
  const std::vector<std::string_view> names = path_parts(form), wanted = path_parts(pattern);
  if (names.size() != wanted.size()) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!rules::segment_matches(wanted[i], names[i])) return false;
  }
  return true;
}

std::string without_digits(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (c < '0' || c > '9') {
      text += c;
    } else if (!text.ends_with('*')) {
      text += '*';
    }
  }
  return text;
}

std::string without_numbers(const std::string& form) {
  const size_t first = std::min(form.find('.'), form.size());
  return form.substr(0, first) + without_digits(std::string_view(form).substr(first));
}

std::string with_any_name(const std::vector<std::string_view>& parts, size_t number) {
  std::vector<std::string_view> others = parts;
  std::replace_if(
      others.begin(), others.end(), [](std::string_view part) { return is_number(part); }, "*");
  return with_any(others, number);
}

std::string with_any(const std::vector<std::string_view>& parts, size_t number) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += '.';
    text += i == number ? "*" : parts[i];
  }
  return text;
}

std::string with_any_number(const std::string& form) { return with_any_name(path_parts(form), std::string::npos); }

std::string in_common(const std::string& a, const std::string& b) {
  std::string text = a.substr(0, size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin()));
  if (text.ends_with('.')) text.pop_back();
  return text.ends_with('*') || text.ends_with(']') ? text : text + "*";
}

void CommonIndexes::add(const std::string& text) {
  const std::vector<std::string> indexes = indexes_of(text);
  if (!std::exchange(any_, true)) common_ = indexes;
  alike_ = alike_ && indexes.size() == common_.size();
  for (size_t i = 0; alike_ && i < common_.size(); ++i) {
    if (indexes[i] != common_[i]) common_[i] = "[*]";
  }
}

std::string CommonIndexes::text() const {
  if (!alike_ || indexes_of(form_).size() != common_.size()) return form_;
  std::string result;
  size_t from = 0;
  for (const std::string& index : common_) {
    const size_t at = form_.find("[*]", from);
    if (at == std::string::npos) return form_;
    result += form_.substr(from, at - from) + index;
    from = at + 3;
  }
  return result + form_.substr(from);
}

std::string entry_of(const std::string& text) {
  int depth = 0;
  for (size_t at = text.find('['); at < text.size(); ++at) {
    if (text[at] == '[') ++depth;
    if (text[at] == ']' && --depth == 0) return text.substr(0, at + 1);
  }
  return text;
}

}  // namespace tensorscope::analyzer
