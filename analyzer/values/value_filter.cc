// SPDX-License-Identifier: Apache-2.0
#include "values/value_filter.h"

#include <charconv>

#include "tensorscope/rules/watch_path.h"
#include "tensorscope/rules/wrapper_paths.h"

namespace tensorscope::values {

namespace {

bool read_number(std::string_view text, uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool takes_place(const ValueFilter& filter, const Value& value) {
  return value.step >= filter.steps.first && value.step <= filter.steps.last &&
         (!filter.mode || *filter.mode == value.mode) && (!filter.index || *filter.index == value.index);
}

}  // namespace

std::optional<Steps> parse_steps(std::string_view text) {
  Steps steps;
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    if (!read_number(text, steps.first)) return std::nullopt;
    steps.last = steps.first;
    return steps;
  }
  const std::string_view first = text.substr(0, dash), last = text.substr(dash + 1);
  if (first.empty() && last.empty()) return std::nullopt;
  if (!first.empty() && !read_number(first, steps.first)) return std::nullopt;
  if (!last.empty() && !read_number(last, steps.last)) return std::nullopt;
  if (steps.first > steps.last) return std::nullopt;
  return steps;
}

void ValueFilter::add_name(const std::string& pattern) {
  patterns_.emplace_back(pattern, rules::path_segments(pattern));
}

bool ValueFilter::takes_name(std::string_view name) const {
  if (patterns_.empty()) return true;
  const std::vector<std::string> path = rules::path_segments(name);
  for (const auto& [text, pattern] : patterns_) {
    if (text == name || rules::match_path(pattern, path) == rules::PathMatch::whole) return true;
  }
  const std::vector<rules::WrapperPlace> places = rules::wrapper_places(name);
  if (places.empty()) return false;
  const std::string own = rules::without_places(name, places);
  const std::vector<std::string> own_path = rules::path_segments(own);
  for (const auto& [text, pattern] : patterns_) {
    if (text == own || rules::match_path(pattern, own_path) == rules::PathMatch::whole) return true;
  }
  return false;
}

bool ValueFilter::takes(const Value& value) const { return takes_place(*this, value) && takes_name(value.name); }

bool NameCache::takes(const Value& value) {
  if (!takes_place(filter_, value)) return false;
  if (!filter_.has_names()) return true;
  const auto [at, fresh] = names_.try_emplace(value.name, false);
  if (fresh) at->second = filter_.takes_name(value.name);
  return at->second;
}

}  // namespace tensorscope::values
