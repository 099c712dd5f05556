// SPDX-License-Identifier: Apache-2.0
#include "memory/grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "dump/sort_by_serial.h"
#include "memory/no_module.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer {

namespace {

struct Name {
  std::string key, label;
};

class Namer {
 public:
  Namer(const View& view, GroupBy by)
      : view_(view), by_(by), no_module_(by == GroupBy::module ? no_module(view.dump) : kNoModule) {}

  // `tensor` may be kNone: a block that no tensor refers to.
  Name operator()(uint32_t site, uint32_t tensor, uint32_t thread, Device device) {
    switch (by_) {
      case GroupBy::site:
        return {view_.places.stack_key(site), view_.places.at(site).where};
      case GroupBy::line:
        return same(view_.places.at(site).where);
      case GroupBy::function: {
        const Place& place = view_.places.at(site);
        if (place.function.empty()) return same(place.where);
        const std::string& holder = place.file.empty() ? place.frame.object : place.file;
        return same(holder.empty() ? place.function : fmt::format("{} {}", holder, place.function));
      }
      case GroupBy::module: {
        const std::string& path = tensor == kNone ? view_.places.module_path(site) : view_.holders.module(tensor);
        return path.empty() ? Name{kNoModule, no_module_} : same(path);
      }
      case GroupBy::device:
        return same(device.text());
      case GroupBy::thread:
        return same(thread_name(thread));
      case GroupBy::dtype:
        return same(tensor == kNone ? kNoTensor : view_.dump.tensors[tensor].dtype_text());
      case GroupBy::shape:
        return same(tensor == kNone ? kNoTensor : view_.dump.tensors[tensor].shape_text());
      case GroupBy::category:
        return same(text(tensor == kNone ? Category::workspace : view_.holders.category(tensor)));
      case GroupBy::holder: {
        if (tensor == kNone) return same(kNoTensor);
        const std::vector<Holder>& holders = view_.holders.holders(tensor);
        return same(holders.empty() ? "(not known)" : holders.front().root);
      }
    }
    return {};
  }

 private:
  static constexpr const char* kNoTensor = "(in no tensor)";
  static Name same(const std::string& text) { return {text, text}; }

  std::string thread_name(uint32_t index) const {
    if (index == 0 || index >= view_.dump.threads.size()) return "(unknown thread)";
    const Thread& thread = view_.dump.threads[index];
    return fmt::format("{} \"{}\"", thread.tid, thread.name);
  }

  const View& view_;
  GroupBy by_;
  const char* no_module_;
};

void note_site(Group& group, Places& places, uint32_t site, uint64_t bytes, GroupBy by) {
  if (!by_place(by)) return;
  group.site_bytes[site] += bytes;
  const std::string& path = places.module_path(site);
  if (!path.empty()) group.modules = merge_module_paths(group.modules, path);
}

// Memory that an autograd worker made says more by the operation it is the gradient of than by the kernel's own stack.
void note_forward(Group& group, const Dump& dump, const Item& item, uint64_t bytes, GroupBy by) {
  if (!by_place(by) || item.allocation == kNone || dump.sites[item.site].python != 0) return;
  const uint64_t serial = dump.allocations[item.allocation].node;
  if (serial == 0) return;
  const uint32_t node = row_with(dump.nodes, serial);
  if (node != kNone && dump.nodes[node].site != 0) group.forward_bytes[dump.nodes[node].site] += bytes;
}

void note_time(Group& group, uint64_t created_ns) {
  group.oldest_ns = std::min(group.oldest_ns, created_ns);
  group.newest_ns = std::max(group.newest_ns, created_ns);
}

void prefetch(const View& view, GroupBy by) {
  if (!by_place(by)) return;
  std::vector<uint32_t> sites;
  for (uint32_t i = 0; i < view.accounts.items().size(); ++i) {
    if (view.selection.item(i)) sites.push_back(view.accounts.items()[i].site);
  }
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (view.selection.tensor(i)) sites.push_back(view.dump.tensors[i].site);
  }
  view.places.prefetch(sites, by == GroupBy::site);
}

}  // namespace

std::optional<GroupBy> by_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kByNames); ++i) {
    if (name == kByNames[i]) return GroupBy(i);
  }
  return std::nullopt;
}

std::string merge_module_paths(const std::string& a, const std::string& b) {
  if (a == b || b.empty()) return a;
  if (a.empty()) return b;
  auto left = path_parts(a), right = path_parts(b);
  std::string result;
  size_t kept = 0;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    bool equal = left[i] == right[i];
    kept += equal;
    if (i > 0) result += '.';
    result += equal ? left[i] : "*";
  }
  if (kept == 0) return "...";
  if (left.size() == right.size()) return result;
  // Of different depth: the innermost module that all are part of.
  std::string shared;
  for (size_t i = 0; i < std::min(left.size(), right.size()) && left[i] == right[i]; ++i) {
    if (i > 0) shared += '.';
    shared += left[i];
  }
  return shared.empty() ? "..." : shared;
}

std::vector<Group> group(const View& view, GroupBy by) {
  prefetch(view, by);
  Namer name(view, by);
  std::vector<Group> groups;
  std::unordered_map<std::string, size_t> index;
  auto group_of = [&](Name named) -> Group& {
    auto [found, fresh] = index.try_emplace(named.key, groups.size());
    if (fresh) {
      Group& group = groups.emplace_back();
      group.key = std::move(named.key);
      group.label = std::move(named.label);
    }
    return groups[found->second];
  };

  const std::vector<Item>& items = view.accounts.items();
  for (uint32_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    bool has_memory = item.storage != kNone || item.allocation != kNone;
    if (!view.selection.item(i) || !has_memory) continue;
    const uint32_t representative = view.selection.representative(i), owner = view.selection.owner(i);
    const uint64_t bytes = view.selection.item_bytes(i);
    const bool by_meaning = by == GroupBy::module || by == GroupBy::category || by == GroupBy::holder;
    Group& group = group_of(name(item.site, by_meaning ? representative : owner, item.thread, item.device));
    if (representative != kNone) group.representatives.push_back(representative);
    group.bytes += bytes;
    (item.storage != kNone ? group.storages : group.blocks) += 1;
    note_time(group, item.created_ns);
    note_site(group, view.places, item.site, bytes, by);
    note_forward(group, view.dump, item, bytes, by);
    if (bytes > group.largest || group.site == 0) {
      group.largest = std::max(group.largest, bytes);
      group.site = item.site;
      group.example = owner;
    }
  }
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (!view.selection.tensor(i)) continue;
    const Tensor& tensor = view.dump.tensors[i];
    uint32_t site = effective_site(view.dump, view.accounts, view.places, i);
    Group& group = group_of(name(site, i, tensor.thread, tensor.device));
    group.tensors += 1;
    note_time(group, tensor.created_ns);
    note_site(group, view.places, site, 0, by);
    if (group.site == 0) group.site = site;
    if (group.example == kNone) group.example = i;
  }
  return groups;
}

}  // namespace tensorscope::analyzer
