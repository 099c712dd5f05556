// Many names as one: what they have in common, with the numbers in which they differ as a range.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "model/holders.h"

namespace tensorscope::model {

namespace {

bool is_digit(char c) { return isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// A name cut at its free-standing numbers: "layers.3.attn" is {"layers.", 3, ".attn"}; "fc1" has none.
struct Pattern {
  std::vector<std::string> texts;  // one more than numbers
  std::vector<uint64_t> numbers;
};

Pattern pattern_of(const std::string& name) {
  constexpr size_t kMaxDigits = 18;
  Pattern out;
  out.texts.emplace_back();
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    while (end < name.size() && is_digit(name[end])) end++;
    const bool free = end > at && end - at <= kMaxDigits && (at == 0 || !is_word(name[at - 1])) &&
                      (end == name.size() || !is_word(name[end]));
    if (free) {
      out.numbers.push_back(std::stoull(name.substr(at, end - at)));
      out.texts.emplace_back();
      at = end;
    } else {
      end = std::max(end, at + 1);
      out.texts.back() += name.substr(at, end - at);
      at = end;
    }
  }
  return out;
}

struct Merged {
  std::vector<std::vector<uint64_t>> numbers;  // a row for each name
  uint64_t names = 0, bytes = 0;
  size_t first = 0;  // in the order in which the names came
};

std::string values_text(std::vector<uint64_t> values, bool indexed) {
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
  for (uint64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

std::string merged_text(const std::vector<std::string>& texts, const Merged& merged) {
  const size_t places = texts.size() - 1;
  size_t varying = 0;
  for (size_t i = 0; i < places; i++) {
    varying += std::any_of(merged.numbers.begin(), merged.numbers.end(),
                           [&](const auto& row) { return row[i] != merged.numbers[0][i]; });
  }
  std::string text = texts[0];
  for (size_t i = 0; i < places; i++) {
    std::vector<uint64_t> values;
    for (const auto& row : merged.numbers) values.push_back(row[i]);
    // A range reads well between brackets; in a dotted path people write a star.
    text += values_text(std::move(values), varying == 1 && texts[i].ends_with('[')) + texts[i + 1];
  }
  return text;
}

}  // namespace

std::string merged_names(const std::vector<std::string>& names) {
  std::vector<WeighedName> weighed;
  for (const std::string& name : names) weighed.emplace_back(name, 0);
  return merged_names(weighed);
}

std::string merged_names(const std::vector<WeighedName>& names) {
  constexpr size_t kShown = 2;
  std::map<std::vector<std::string>, Merged> groups;
  for (const auto& [name, bytes] : names) {
    if (name.empty()) continue;
    Pattern pattern = pattern_of(name);
    Merged& merged = groups.try_emplace(std::move(pattern.texts), Merged{{}, 0, 0, groups.size()}).first->second;
    merged.numbers.push_back(std::move(pattern.numbers));
    merged.names++;
    merged.bytes += bytes;
  }
  std::vector<std::pair<const std::vector<std::string>*, const Merged*>> order;
  for (const auto& [texts, merged] : groups) order.emplace_back(&texts, &merged);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.second->bytes != b.second->bytes) return a.second->bytes > b.second->bytes;
    return a.second->names != b.second->names ? a.second->names > b.second->names : a.second->first < b.second->first;
  });
  std::string text;
  for (size_t i = 0; i < std::min(order.size(), kShown); i++) {
    text += (i == 0 ? "" : "; ") + merged_text(*order[i].first, *order[i].second);
  }
  if (order.size() > kShown) text += " and " + std::to_string(order.size() - kShown) + " more";
  return text;
}

size_t name_forms(const std::vector<std::string>& names) {
  std::set<std::vector<std::string>> forms;
  for (const std::string& name : names) {
    if (!name.empty()) forms.insert(pattern_of(name).texts);
  }
  return forms.size();
}

}  // namespace tensorscope::model
