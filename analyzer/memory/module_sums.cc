#include "model/module_sums.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "model/module_tree.h"

namespace tensorscope::model {

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
  auto number = [](const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; };
  return number(a) && number(b) && a.size() != b.size() ? a.size() < b.size() : a < b;
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
void mark_structure(const View& view, const std::vector<uint32_t>& speakers,
                    const std::map<std::string, std::string>& classes, ModuleTree& structure) {
  std::map<std::string, uint64_t> parameters;
  for (size_t i = 0; i < speakers.size(); i++) {
    if (speakers[i] == kNone || view.holders.category(speakers[i]) != Category::parameter) continue;
    parameters[view.holders.module(speakers[i])] += view.selection.item_bytes(uint32_t(i));
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

}  // namespace

ModuleSums module_sums(const View& view, bool merge) {
  const Dump& dump = view.dump;
  ModuleTree structure;
  std::map<std::string, std::string> classes;  // path -> class
  for (const auto& [object, name] : dump.module_names) {
    structure.add(name.path);
    classes.try_emplace(name.path, name.class_name);
  }
  const std::vector<Item>& items = view.accounts.items();
  std::vector<uint32_t> speakers(items.size(), kNone);
  for (uint32_t i = 0; i < items.size(); i++) {
    if (!view.selection.item(i)) continue;
    speakers[i] = view.selection.speaker(i);
    if (speakers[i] != kNone) structure.add(view.holders.module(speakers[i]));
  }
  if (merge) {
    mark_structure(view, speakers, classes, structure);
    structure.merge();
  }

  NameTree tree;
  std::vector<ModuleRow> rows(1);
  std::unordered_map<std::string, uint32_t> row_of;  // by the path of a module
  auto find = [&](const std::string& path) {
    auto [found, fresh] = row_of.try_emplace(path);
    if (fresh) found->second = tree.add(structure.path(structure.add(path)));
    rows.resize(tree.nodes().size());
    return found->second;
  };
  std::map<uint32_t, uint64_t> counted;
  for (const auto& [path, class_name] : classes) {
    const uint32_t row = find(path);
    rows[row].class_name = class_name;
    counted[row]++;
  }
  ModuleSums sums;
  for (uint32_t i = 0; i < items.size(); i++) {
    if (!view.selection.item(i)) continue;
    const uint32_t speaker = speakers[i];
    const Category category = speaker == kNone ? Category::workspace : view.holders.category(speaker);
    const std::string& module = speaker == kNone ? "" : view.holders.module(speaker);
    ModuleRow* row = &sums.none;
    if (!module.empty()) {
      const uint32_t at = find(module);
      row = &rows[at];
      tree.nodes()[at].order = std::min(tree.nodes()[at].order, dump.tensors[speaker].serial);
    }
    row->bytes[size_t(category)] += view.selection.item_bytes(i);
    row->total += view.selection.item_bytes(i);
  }
  for (uint32_t i = uint32_t(rows.size()); i-- > 1;) add(rows[tree.nodes()[i].parent], rows[i]);
  add(sums.all, rows[0]);
  add(sums.all, sums.none);
  std::vector<int> depth(rows.size());
  for (uint32_t at : tree.in_order()) {
    const NamedNode& node = tree.nodes()[at];
    depth[at] = node.parent == 0 ? 0 : depth[node.parent] + 1;
    if (rows[at].total == 0) continue;
    ModuleRow row = rows[at];
    row.name = node.name;
    row.path = node.path;
    row.depth = depth[at];
    row.modules = std::max<uint64_t>(counted[at], 1);
    sums.rows.push_back(std::move(row));
  }
  return sums;
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
  for (uint32_t i = uint32_t(sums.size()); i-- > 1;) {
    Group& outer = sums[tree.nodes()[i].parent];
    const Group& inner = sums[i];
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

}  // namespace tensorscope::model
