// SPDX-License-Identifier: Apache-2.0
#include "leaks/narrowed.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

namespace {

// "counters[1].seen" of "counters[1].seen[3]" and of "counters[1].seen[3].loss".
std::string_view direct_container(std::string_view text) {
  size_t end = text.size();
  int depth = 0;
  for (size_t at = text.size(); at-- > 0;) {
    if (text[at] == ']' || text[at] == '}') ++depth;
    if ((text[at] == '[' || text[at] == '{') && --depth <= 0) {
      end = at;
      break;
    }
  }
  return text.substr(0, end);
}

struct Container {
  Reference example;                           // of the last dump that has it
  std::vector<std::vector<uint32_t>> members;  // tensors, by dump
};
using Containers = std::map<std::string, Container>;

Containers containers_of(const LeakAnalysis& analysis, const Series& series) {
  Containers all;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    for (const uint32_t tensor : series.members[i]) {
      for (const Reference& row : analysis.view(i).dump.references.of(tensor)) {
        if (!same_form(row, series)) continue;
        Container& container = all[std::string(direct_container(row.text))];
        container.members.resize(analysis.dumps());
        if (container.members[i].empty()) container.example = row;
        container.members[i].push_back(tensor);
        break;
      }
    }
  }
  return all;
}

bool stays(const Container& container) {
  for (const std::vector<uint32_t>& members : container.members) {
    if (members.size() != container.members.front().size()) return false;
  }
  return true;
}

// Returns null if several grow, or shrink.
Container* only_that_changes(Containers& all) {
  Container* changing = nullptr;
  for (auto& [text, container] : all) {
    if (stays(container)) continue;
    if (changing != nullptr) return nullptr;
    changing = &container;
  }
  return changing;
}

Growth growth_of(const LeakAnalysis& analysis, const std::vector<std::vector<uint32_t>>& members) {
  Growth growth;
  for (size_t i = 0; i < members.size(); ++i) {
    growth.count.push_back(members[i].size());
    growth.bytes.push_back(analysis.bytes_of(i, members[i]));
  }
  growth.first = tensor_serials(analysis.view(0).dump, members.front());
  growth.kept = tensor_serials(analysis.last().dump, members.back());
  return growth;
}

}  // namespace

Series narrowed(const LeakAnalysis& analysis, const Series& series) {
  if (series.several || series.of_many_threads() || series.of_atexit()) return series;
  Containers all = containers_of(analysis, series);
  Container* container = all.size() > 1 ? only_that_changes(all) : nullptr;
  if (container == nullptr) return series;
  Series one = series;
  one.example = container->example;
  one.members = std::move(container->members);
  one.growth = growth_of(analysis, one.members);
  return analysis.timeline().is_accumulating(one.growth) ? one : series;
}

}  // namespace tensorscope::analyzer
