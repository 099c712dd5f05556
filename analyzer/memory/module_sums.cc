// SPDX-License-Identifier: Apache-2.0
#include "memory/module_sums.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ownership/module_tree.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer {

namespace {

// The parts of a path; a dot between brackets belongs to a range of numbers.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : path) {
    depth += c == '[';
    depth -= c == ']';
    if (c == '.' && depth <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// By number where both are numbers.
bool name_before(const std::string& a, const std::string& b) {
  return is_number(a) && is_number(b) && a.size() != b.size() ? a.size() < b.size() : a < b;
}

// A tree of names; parents come before their children in `nodes`.
struct NamedNode {
  std::string name, path;
  uint32_t parent = kNone;
  std::map<std::string, uint32_t> children;
  uint64_t order = UINT64_MAX;  // of the first tensor
};

class NameTree {
 public:
  NameTree() : nodes_(1) {}

  uint32_t add(const std::string& path) {
    uint32_t at = 0;
    for (const std::string& part : parts_of(path)) {
      auto [found, fresh] = nodes_[at].children.try_emplace(part, uint32_t(nodes_.size()));
      const uint32_t next = found->second;
      if (fresh) {
        NamedNode node;
        node.name = part;
        node.path = at == 0 ? part : nodes_[at].path + "." + part;
        node.parent = at;
        nodes_.push_back(std::move(node));
      }
      at = next;
    }
    return at;
  }

  // All nodes but the root, outer before inner, siblings by their first tensor.
  std::vector<uint32_t> in_order() {
    for (uint32_t i = uint32_t(nodes_.size()); i-- > 1;) {
      NamedNode& parent = nodes_[nodes_[i].parent];
      parent.order = std::min(parent.order, nodes_[i].order);
    }
    std::vector<uint32_t> result, open = {0};
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      if (node != 0) result.push_back(node);
      std::vector<uint32_t> children;
      for (const auto& [name, child] : nodes_[node].children) children.push_back(child);
      std::sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) {
        if (nodes_[a].order != nodes_[b].order) return nodes_[a].order < nodes_[b].order;
        return name_before(nodes_[a].name, nodes_[b].name);
      });
      open.insert(open.end(), children.rbegin(), children.rend());
    }
    return result;
  }

  std::vector<NamedNode>& nodes() { return nodes_; }

 private:
  std::vector<NamedNode> nodes_;
};

// Layers are of one structure where they are of one class and have parameters of one size.
void mark_structure(const View& view, const std::vector<uint32_t>& representatives,
                    const std::map<std::string, std::string>& classes, ModuleTree& structure) {
  std::map<std::string, uint64_t> parameters;
  for (size_t i = 0; i < representatives.size(); i++) {
    if (representatives[i] == kNone || view.holders.category(representatives[i]) != Category::parameter) continue;
    parameters[view.holders.module(representatives[i])] += view.selection.item_bytes(uint32_t(i));
  }
  std::map<std::pair<std::string, uint64_t>, uint32_t> kinds;
  for (const auto& [path, class_name] : classes) {
    auto found = parameters.find(path);
    const uint64_t bytes = found == parameters.end() ? 0 : found->second;
    structure.mark(structure.add(path), kinds.try_emplace({class_name, bytes}, uint32_t(kinds.size())).first->second);
  }
}

void add(ModuleRow& to, const ModuleRow& row) {
  for (size_t i = 0; i < kCategories; i++) to.bytes[i] += row.bytes[i];
  to.total += row.total;
}

// The rows of a model's modules, each with what belongs to it alone until sum_up().
class ModuleRows {
 public:
  ModuleRows(const View& view, bool merge) : view_(view), representatives_(view.accounts.items().size(), kNone) {
    for (const auto& [object, name] : view.dump.module_names) {
      structure_.add(name.path);
      classes_.try_emplace(name.path, name.class_name);
    }
    for (uint32_t i = 0; i < representatives_.size(); i++) {
      if (!view.selection.item(i)) continue;
      representatives_[i] = view.selection.representative(i);
      if (representatives_[i] != kNone) structure_.add(view.holders.module(representatives_[i]));
    }
    if (merge) {
      mark_structure(view, representatives_, classes_, structure_);
      structure_.merge();
    }
    for (const auto& [path, class_name] : classes_) {
      const uint32_t row = find(path);
      rows_[row].class_name = class_name;
      counted_[row]++;
    }
  }

  // Into the row of its module, or into `none`.
  void add_items(ModuleRow& none) {
    for (uint32_t i = 0; i < representatives_.size(); i++) {
      if (!view_.selection.item(i)) continue;
      const uint32_t representative = representatives_[i];
      const Category category = representative == kNone ? Category::workspace : view_.holders.category(representative);
      const std::string& module = representative == kNone ? "" : view_.holders.module(representative);
      ModuleRow* row = &none;
      if (!module.empty()) {
        const uint32_t at = find(module);
        row = &rows_[at];
        tree_.nodes()[at].order = std::min(tree_.nodes()[at].order, view_.dump.tensors[representative].serial);
      }
      row->bytes[size_t(category)] += view_.selection.item_bytes(i);
      row->total += view_.selection.item_bytes(i);
    }
  }

  // Each row's modules inside it; the sum of all.
  const ModuleRow& sum_up() {
    for (uint32_t i = uint32_t(rows_.size()); i-- > 1;) add(rows_[tree_.nodes()[i].parent], rows_[i]);
    return rows_[0];
  }

  // Those with memory, outer before inner.
  std::vector<ModuleRow> in_order() {
    std::vector<ModuleRow> result;
    std::vector<int> depth(rows_.size());
    for (uint32_t at : tree_.in_order()) {
      const NamedNode& node = tree_.nodes()[at];
      depth[at] = node.parent == 0 ? 0 : depth[node.parent] + 1;
      if (rows_[at].total == 0) continue;
      ModuleRow row = rows_[at];
      row.name = node.name;
      row.path = node.path;
      row.depth = depth[at];
      row.modules = std::max<uint64_t>(counted_[at], 1);
      result.push_back(std::move(row));
    }
    return result;
  }

 private:
  uint32_t find(const std::string& path) {
    auto [found, fresh] = row_of_.try_emplace(path);
    if (fresh) found->second = tree_.add(structure_.path(structure_.add(path)));
    rows_.resize(tree_.nodes().size());
    return found->second;
  }

  const View& view_;
  std::vector<uint32_t> representatives_;  // of each item that is selected
  ModuleTree structure_;
  std::map<std::string, std::string> classes_;  // by path
  NameTree tree_;
  std::vector<ModuleRow> rows_ = std::vector<ModuleRow>(1);
  std::map<uint32_t, uint64_t> counted_;              // modules in a row
  std::unordered_map<std::string, uint32_t> row_of_;  // by the path of a module
};

}  // namespace

ModuleSums module_sums(const View& view, bool merge) {
  ModuleRows rows(view, merge);
  ModuleSums sums;
  rows.add_items(sums.none);
  add(sums.all, rows.sum_up());
  add(sums.all, sums.none);
  sums.rows = rows.in_order();
  return sums;
}

// What an outer module has in all, from what its inner ones have.
static void add_inner(Group& outer, const Group& inner) {
  outer.bytes += inner.bytes;
  outer.tensors += inner.tensors;
  outer.storages += inner.storages;
  outer.blocks += inner.blocks;
  outer.oldest_ns = std::min(outer.oldest_ns, inner.oldest_ns);
  outer.newest_ns = std::max(outer.newest_ns, inner.newest_ns);
  if (inner.largest > outer.largest || outer.example == kNone) {
    outer.largest = inner.largest;
    outer.example = inner.example;
    outer.site = inner.site;
  }
}

std::vector<Group> module_tree(std::vector<Group> groups) {
  auto is_path = [](const Group& group) { return !group.label.empty() && group.label.front() != '('; };
  NameTree tree;
  std::vector<uint32_t> at(groups.size(), 0);
  for (size_t i = 0; i < groups.size(); i++) {
    if (!is_path(groups[i])) continue;
    at[i] = tree.add(groups[i].label);
    tree.nodes()[at[i]].order = std::min(tree.nodes()[at[i]].order, groups[i].oldest_ns);
  }
  std::vector<Group> sums(tree.nodes().size());
  std::vector<uint8_t> own(sums.size());
  for (size_t i = 0; i < groups.size(); i++) {
    if (at[i] == 0) continue;
    sums[at[i]] = groups[i];
    own[at[i]] = 1;
  }
  for (uint32_t i = uint32_t(sums.size()); i-- > 1;) add_inner(sums[tree.nodes()[i].parent], sums[i]);
  std::vector<Group> result;
  std::vector<int> depth(sums.size());
  std::vector<std::string> begun(sums.size());  // names of outer modules that have no line
  for (uint32_t node : tree.in_order()) {
    const NamedNode& entry = tree.nodes()[node];
    const std::string name = begun[entry.parent] + entry.name;
    if (!own[node] && entry.children.size() < 2) {
      begun[node] = name + ".";
      depth[node] = depth[entry.parent];
      continue;
    }
    Group group = std::move(sums[node]);
    group.key = entry.path;
    group.label = std::string(size_t(depth[entry.parent]) * 2, ' ') + name;
    depth[node] = depth[entry.parent] + 1;
    result.push_back(std::move(group));
  }
  for (size_t i = 0; i < groups.size(); i++) {
    if (at[i] == 0) result.push_back(std::move(groups[i]));
  }
  return result;
}

}  // namespace tensorscope::analyzer
