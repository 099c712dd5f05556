// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_view.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <unordered_map>

#include "dump/sort_by_serial.h"
#include "memory/selection.h"

namespace tensorscope::analyzer {

namespace {

// Whether a name says no more than which node holds the tensor: "model.fc1: AddmmBackward0.mat1".
bool is_slot_name(const std::string& name, const std::string& class_name) {
  const size_t colon = name.rfind(": ");
  std::string_view tail = name;
  if (colon != std::string::npos) tail.remove_prefix(colon + 2);
  return tail.starts_with(class_name + ".");
}

}  // namespace

GraphView::GraphView(const Dump& dump, Places& places, TensorNames names)
    : dump(dump), graph(dump.graph), walk(dump.graph), tensors(dump), places_(places), names_(std::move(names)) {}

std::string GraphView::name(uint32_t tensor) const {
  if (names_(tensor).empty()) return "";
  const std::string& best = names_(tensor).front();
  const uint32_t node = tensors.node_of(tensor);
  if (node != kNoNode && is_slot_name(best, graph.class_name(node))) return "";
  for (uint32_t saver : tensors.savers_of(tensor)) {
    if (is_slot_name(best, graph.class_name(saver))) return "";
  }
  return best;
}

std::string GraphView::title(uint32_t tensor) const {
  const std::string known = name(tensor);
  return "#" + std::to_string(dump.tensors[tensor].serial) + (known.empty() ? "" : " " + known);
}

uint32_t GraphView::site_of(uint32_t node) const {
  const uint32_t seen = graph.nodes[node].seen;
  return seen < dump.nodes.size() ? dump.nodes[seen].site : 0;
}

const std::string& GraphView::module(uint32_t node) const { return places_.module_path(site_of(node)); }

const Place* GraphView::place_of(uint32_t node) const {
  const uint32_t site = site_of(node);
  return site == 0 ? nullptr : &places_.at(site);
}

std::string GraphView::place(uint32_t node) const {
  const Place* place = place_of(node);
  return place == nullptr ? "" : place->where;
}

std::string GraphView::freed_at(uint32_t node) const { return analyzer::freed_at(dump, places_, node); }

std::vector<FreedNodes> GraphView::freed_by_place(std::span<const uint32_t> nodes) const {
  return analyzer::freed_by_place(dump, places_, nodes);
}

std::string GraphView::created_at(uint32_t tensor) const {
  const uint32_t site = dump.tensors[tensor].site;
  return site == 0 ? "" : places_.at(site).where;
}

void GraphView::prefetch(std::span<const uint32_t> nodes) const {
  std::vector<uint32_t> sites;
  for (uint32_t node : nodes) sites.push_back(site_of(node));
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  places_.prefetch(sites, false);
}

NodePlaces GraphView::node_places(std::span<const uint32_t> nodes) const {
  prefetch(nodes);
  NodePlaces result;
  result.module.resize(graph.nodes.size());
  result.place.resize(graph.nodes.size());
  std::unordered_map<std::string, uint32_t> ids{{"", 0}};
  auto id_of = [&](const std::string& text) {
    auto [found, fresh] = ids.try_emplace(text, uint32_t(result.texts.size()));
    if (fresh) result.texts.push_back(text);
    return found->second;
  };
  std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> by_site;
  for (uint32_t node : nodes) {
    auto [found, fresh] = by_site.try_emplace(site_of(node));
    if (fresh) found->second = {id_of(module(node)), id_of(place(node))};
    std::tie(result.module[node], result.place[node]) = found->second;
  }
  return result;
}

NamesKnown names_known(const Dump& dump) {
  const References& references = dump.references;
  if (dump.process.python_version.empty() || (references.present && references.complete)) return NamesKnown::all;
  return references.present && references.objects > 0 ? NamesKnown::some : NamesKnown::none;
}

std::vector<uint32_t> tensors_called(const Dump& dump, const TensorNames& names_of, const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with('#')) digits.remove_prefix(1);
  uint64_t serial = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), serial);
  const auto& all = dump.tensors;
  if (error == std::errc() && end == digits.data() + digits.size()) {
    const uint32_t found = row_with(all, serial);
    return found == kNone ? std::vector<uint32_t>() : std::vector<uint32_t>{found};
  }
  std::vector<uint32_t> whole, part;
  for (uint32_t tensor = 0; tensor < all.size(); ++tensor) {
    const std::vector<std::string>& names = names_of(tensor);
    auto is = [&](const std::string& name) { return name == text; };
    auto ends_as = [&](const std::string& name) { return without_scope(name) == text; };
    if (std::any_of(names.begin(), names.end(), is)) whole.push_back(tensor);
    if (std::any_of(names.begin(), names.end(), ends_as)) part.push_back(tensor);
  }
  return whole.empty() ? part : whole;
}

std::vector<std::string> names_like(const Dump& dump, const TensorNames& names_of, const std::string& text,
                                    size_t most) {
  std::set<std::string> found;
  for (uint32_t tensor = 0; tensor < dump.tensors.size() && found.size() < most; ++tensor) {
    for (const std::string& name : names_of(tensor)) {
      if (found.size() < most && name.find(text) != std::string::npos) found.insert(name);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace tensorscope::analyzer
