// SPDX-License-Identifier: Apache-2.0
#include "ownership/module_tree.h"

#include <algorithm>
#include <tuple>

#include "support/dotted_path.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxNames = 64;  // of one path: the text comes from a file

// By value, however long: without leading zeros the shorter number is the smaller.
bool number_less(std::string_view a, std::string_view b) {
  auto key = [](std::string_view text) {
    std::string_view digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
    return std::tuple(digits.size(), digits, text.size());
  };
  return key(a) < key(b);
}

bool follows(const std::string& before, const std::string& after) {
  constexpr size_t kDigits = 18;  // fits 64 bits
  return before.size() <= kDigits && after.size() <= kDigits && std::stoull(before) + 1 == std::stoull(after);
}

}  // namespace

std::string index_ranges(const std::vector<std::string>& numbers) {
  std::string text;
  for (size_t begin = 0, end; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && follows(numbers[end - 1], numbers[end]);) ++end;
    if (!text.empty()) text += ',';
    text += numbers[begin];
    if (end - begin > 2) {
      text += ".." + numbers[end - 1];
    } else if (end - begin == 2) {
      text += "," + numbers[end - 1];
    }
  }
  return text;
}

uint32_t ModuleTree::add(std::string_view path, uint32_t depth) {
  uint32_t node = 0;
  const size_t most = depth == 0 ? kMaxNames : std::min<size_t>(depth, kMaxNames);
  for (size_t names = 0; names < most && !path.empty(); ++names) {
    const size_t dot = std::min(path.find('.'), path.size());
    auto [found, fresh] = children_.try_emplace({node, std::string(path.substr(0, dot))}, uint32_t(nodes_.size()));
    if (fresh) {
      nodes_[node].children.push_back(found->second);
      nodes_.emplace_back();
      nodes_.back().parent = node;
      nodes_.back().name = nodes_.back().shown = found->first.second;
    }
    node = found->second;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

// Numbered children of one structure become a group, if there are at least two of them.
void ModuleTree::group_children(uint32_t node) {
  std::map<uint32_t, std::vector<uint32_t>> groups;
  auto& children = nodes_[node].children;
  std::sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) {
    const bool numbers = is_number(nodes_[a].name) && is_number(nodes_[b].name);
    return numbers ? number_less(nodes_[a].name, nodes_[b].name) : nodes_[a].name < nodes_[b].name;
  });
  for (uint32_t child : children) {
    if (is_number(nodes_[child].name)) groups[nodes_[child].structure].push_back(child);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
  for (const auto& [structure, members] : groups) {
    std::vector<std::string> numbers;
    for (uint32_t child : members) numbers.push_back(nodes_[child].name);
    const std::string ranges = index_ranges(numbers);
    for (uint32_t child : members) {
      nodes_[child].indices = ranges;
      nodes_[child].shown = groups.size() == 1 ? "*" : "[" + ranges + "]";
    }
  }
}

void ModuleTree::merge() {
  std::map<std::string, uint32_t> structures;
  for (uint32_t node = uint32_t(nodes_.size()); node-- > 0;) {
    group_children(node);
    std::sort(nodes_[node].marks.begin(), nodes_[node].marks.end());
    std::string key;
    for (uint32_t mark : nodes_[node].marks) key += std::to_string(mark) + ' ';
    for (uint32_t child : nodes_[node].children) {
      const Node& entry = nodes_[child];
      key += std::to_string(entry.name.size()) + ':' + entry.name + ' ' + std::to_string(entry.structure) + ' ';
    }
    nodes_[node].structure = structures.try_emplace(key, uint32_t(structures.size())).first->second;
  }
  std::map<std::pair<uint32_t, std::string>, uint32_t> classes;
  for (uint32_t node = 1; node < nodes_.size(); ++node) {
    const Node& entry = nodes_[node];
    // A group differs from its siblings by its numbers: none of them is also a name.
    const std::string& label = entry.indices.empty() ? entry.name : entry.indices + " ";
    nodes_[node].merged =
        classes.try_emplace({nodes_[entry.parent].merged, label}, uint32_t(classes.size() + 1)).first->second;
  }
}

std::string ModuleTree::path(uint32_t node) const {
  std::vector<const std::string*> names;
  for (; node != 0; node = nodes_[node].parent) names.push_back(&nodes_[node].shown);
  std::string text;
  for (size_t i = names.size(); i-- > 0;) text += *names[i] + (i > 0 ? "." : "");
  return text;
}

std::vector<std::string> ModuleTree::indices(uint32_t node) const {
  std::vector<std::string> result;
  for (; node != 0; node = nodes_[node].parent) {
    if (nodes_[node].shown == "*") result.push_back(nodes_[node].indices);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace tensorscope::analyzer
