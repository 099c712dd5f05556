// SPDX-License-Identifier: Apache-2.0
#include "leaks/renamed_containers.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "dump/sort_by_serial.h"

namespace tensorscope::analyzer {

namespace {

bool may_be_renamed(const Series& series) { return series.container && in_plain_variable(series.example); }

// The containers that refer to each tensor of the last dump.
std::unordered_map<uint32_t, std::vector<size_t>> containers_of_tensors(const std::vector<Series>& all) {
  std::unordered_map<uint32_t, std::vector<size_t>> containers;
  for (size_t number = 0; number < all.size(); ++number) {
    if (!may_be_renamed(all[number])) continue;
    for (uint32_t tensor : all[number].members.back()) containers[tensor].push_back(number);
  }
  return containers;
}

}  // namespace

void join_renamed(const std::vector<View>& views, std::vector<Series>& all) {
  constexpr size_t kPart = 7, kOf = 8;
  const std::unordered_map<uint32_t, std::vector<size_t>> containers = containers_of_tensors(all);
  std::map<size_t, std::set<size_t>> earlier_names;
  for (size_t number = 0; number < all.size(); ++number) {
    if (!may_be_renamed(all[number])) continue;
    for (size_t dump = 0; dump + 1 < views.size(); ++dump) {
      const std::vector<uint32_t>& members = all[number].members[dump];
      std::map<size_t, size_t> now;  // how many of them each container has in the last dump
      for (uint32_t tensor : members) {
        const auto found =
            containers.find(row_with(views.back().dump.tensors, views[dump].dump.tensors[tensor].serial));
        if (found == containers.end()) continue;
        for (size_t container : found->second) ++now[container];
      }
      for (const auto& [container, count] : now) {
        const bool nearly_all = count * kOf >= members.size() * kPart;
        if (container != number && nearly_all && now[number] * 2 < count) earlier_names[container].insert(number);
      }
    }
  }
  for (const auto& [container, names] : earlier_names) {
    for (size_t name : names) add_members(all[name], all[container]);
  }
}

}  // namespace tensorscope::analyzer
