// SPDX-License-Identifier: Apache-2.0
// Which of the names that there are somebody may have meant.
//
// Context: run_or_abandon_on_oom().
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tensorscope::tensor_values {

// How many characters must be changed to make one of the other.
inline size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row[b.size()];
}

// The three nearest, the nearest first, of those that have half of their characters in common with it.
template <typename Names>
std::vector<std::string> nearest_of(const std::string& name, const Names& names) {
  std::vector<std::pair<size_t, std::string>> all;
  for (const std::string& each : names) all.emplace_back(distance(name, each), each);
  std::sort(all.begin(), all.end());
  std::vector<std::string> nearest;
  for (const auto& [away, each] : all) {
    if (nearest.size() == 3) break;
    if (away <= std::max(name.size(), each.size()) / 2) nearest.push_back(each);
  }
  return nearest;
}

}  // namespace tensorscope::tensor_values
