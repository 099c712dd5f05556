// SPDX-License-Identifier: Apache-2.0
// Many names as few: names that differ in numbers alone are one form, written with the range of the numbers.
//   losses[0], losses[1], losses[127]       losses[0..127] where all between are there, else losses[0,1,127] or
//   losses[*] model.layers.0.fc1, model.layers.1.fc1  model.layers.*.fc1
//
// Context: any that may allocate. No exceptions. Not thread-safe. Units: bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorscope::rules {

namespace detail {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_word(char c) { return is_digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }

// What stands before the id() of an object: "cache[Key at 0x7f5c0a2e1a90]".
inline constexpr std::string_view kObjectAt = " at 0x";

constexpr int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

inline std::string hex_text(uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    if (text.empty() && number >> shift == 0 && shift > 0) continue;
    text += "0123456789abcdef"[number >> shift & 15];
  }
  return text;
}

// A name cut at its free-standing numbers: "layers.3.attn" is {"layers.", 3, ".attn"}; "fc1" has none. The id() of an
// object is one, too.
struct NamePattern {
  std::vector<std::string> texts;  // one more than numbers
  std::vector<uint64_t> numbers;

  explicit NamePattern(std::string_view name) : texts(1) {
    constexpr size_t kMaxDigits = 18;
    for (size_t at = 0; at < name.size();) {
      if (take_object(name, at)) continue;
      size_t end = at;
      while (end < name.size() && is_digit(name[end])) ++end;
      const bool free = end > at && end - at <= kMaxDigits && (at == 0 || !is_word(name[at - 1])) &&
                        (end == name.size() || !is_word(name[end]));
      if (free) {
        uint64_t number = 0;
        for (; at < end; ++at) number = number * 10 + uint64_t(name[at] - '0');
        numbers.push_back(number);
        texts.emplace_back();
      } else {
        end = std::max(end, at + 1);
        texts.back().append(name.substr(at, end - at));
        at = end;
      }
    }
  }

 private:
  bool take_object(std::string_view name, size_t& at) {
    constexpr size_t kMaxDigits = 16;
    if (!texts.back().ends_with(kObjectAt)) return false;
    size_t end = at;
    uint64_t number = 0;
    for (; end < name.size() && hex_digit(name[end]) >= 0; ++end) number = number << 4 | uint64_t(hex_digit(name[end]));
    if (end == at || end - at > kMaxDigits) return false;
    numbers.push_back(number);
    texts.emplace_back();
    at = end;
    return true;
  }
};

// `indexed`: the numbers stand between brackets, where a range reads well; in a dotted path people write a star.
inline std::string numbers_text(std::vector<uint64_t> values, bool indexed) {
  constexpr size_t kFew = 3;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() == 1) return std::to_string(values[0]);
  if (!indexed) return "*";
  if (values.back() - values.front() + 1 == values.size()) {
    return std::to_string(values.front()) + ".." + std::to_string(values.back());
  }
  if (values.size() > kFew) return "*";
  std::string text;
  for (const uint64_t value : values) {
    if (!text.empty()) text += ",";
    text += std::to_string(value);
  }
  return text;
}

}  // namespace detail

class NameForms {
 public:
  struct Form {
    std::string text;
    uint64_t names = 0, bytes = 0;
  };

  // An empty name has no form.
  void add(std::string_view name, uint64_t bytes) {
    if (name.empty()) return;
    detail::NamePattern pattern(name);
    const size_t order = forms_.size();
    Entry& entry = forms_.try_emplace(std::move(pattern.texts)).first->second;
    if (entry.names++ == 0) entry.order = order;
    entry.bytes += bytes;
    entry.numbers.insert(entry.numbers.end(), pattern.numbers.begin(), pattern.numbers.end());
  }

  size_t size() const { return forms_.size(); }

  // Those with the most bytes first, then those with the most names, then those that came first; at most `most`.
  std::vector<Form> largest(size_t most) const {
    std::vector<const Forms::value_type*> order;
    for (const auto& each : forms_) order.push_back(&each);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      const Entry &first = a->second, &second = b->second;
      if (first.bytes != second.bytes) return first.bytes > second.bytes;
      return first.names != second.names ? first.names > second.names : first.order < second.order;
    });
    std::vector<Form> out;
    for (size_t i = 0; i < order.size() && i < most; ++i) {
      out.push_back({text_of(order[i]->first, order[i]->second), order[i]->second.names, order[i]->second.bytes});
    }
    return out;
  }

 private:
  struct Entry {
    std::vector<uint64_t> numbers;  // of each name as many as the form has places for
    uint64_t names = 0, bytes = 0;
    size_t order = 0;
  };
  using Forms = std::map<std::vector<std::string>, Entry>;

  static std::string text_of(const std::vector<std::string>& texts, const Entry& entry) {
    const size_t places = texts.size() - 1;
    std::vector<std::vector<uint64_t>> values(places);
    for (size_t i = 0; i < entry.numbers.size(); ++i) values[i % places].push_back(entry.numbers[i]);
    const auto varies = [](const std::vector<uint64_t>& all) {
      return std::any_of(all.begin(), all.end(), [&](uint64_t value) { return value != all.front(); });
    };
    const bool one_varies = std::count_if(values.begin(), values.end(), varies) == 1;
    std::string text = texts[0];
    for (size_t i = 0; i < places; ++i) {
      // Of holders that have one name, "#1" identifies one (same_names.h): for several together it means
      // nothing.
      if (text.ends_with('#') && varies(values[i])) {
        text.resize(text.size() - (text.ends_with(", #") ? 3 : 1));
      } else if (text.ends_with(detail::kObjectAt)) {
        if (varies(values[i])) {
          text.resize(text.size() - detail::kObjectAt.size());
        } else {
          text += detail::hex_text(values[i].front());
        }
      } else {
        text += detail::numbers_text(std::move(values[i]), one_varies && texts[i].ends_with('['));
      }
      text += texts[i + 1];
    }
    return text;
  }

  Forms forms_;
};

}  // namespace tensorscope::rules
