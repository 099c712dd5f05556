// SPDX-License-Identifier: Apache-2.0
#include "html/stacks.h"

#include <algorithm>

#include "text/text.h"

namespace tensorscope::html {

using analyzer::Frame;

Stacks::Stacks(analyzer::OpenedDump& opened, Texts& texts) : opened_(opened), texts_(texts) {
  parent_.push_back(0);
  frame_.push_back(0);
}

uint64_t Stacks::row(uint32_t site) {
  if (site == 0) return 0;
  if (rows_.size() <= site) rows_.resize(std::max<size_t>(opened_.dump.sites.size(), size_t{site} + 1));
  if (rows_[site] == 0) {
    rows_[site] = uint32_t(where_.size()) + 1;
    add(site);
  }
  return rows_[site];
}

Json Stacks::json(Payload& payload) const {
  return {{"where", payload.column(where_)},
          {"leaf", payload.column(leaf_)},
          {"module", payload.column(module_)},
          {"source", payload.column(source_)},
          {"id", payload.column(id_)},
          {"parent", payload.column(parent_)},
          {"frame", payload.column(frame_)},
          {"frames",
           {{"native", payload.column(native_)},
            {"function", payload.column(function_)},
            {"file", payload.column(file_)},
            {"line", payload.column(line_)},
            {"object", payload.column(object_)},
            {"source", payload.column(frame_source_)}}}};
}

void Stacks::add(uint32_t site) {
  where_.push_back(texts_.number(text::clean(opened_.places.at(site).where)));
  module_.push_back(texts_.number(opened_.places.module_path(site)));
  source_.push_back(texts_.number(opened_.places.source_line(site)));
  id_.push_back(site);
  // Not Places::stack, which keeps what it gave: the frames of a million stacks with their texts are some gibibytes.
  const bool known = site < opened_.dump.sites.size();
  const std::vector<Frame> stack = known ? opened_.symbols.merged(opened_.dump.sites[site]) : std::vector<Frame>();
  uint32_t node = 0;
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) node = child(node, number(*frame));
  leaf_.push_back(node);
}

uint32_t Stacks::child(uint32_t parent, uint32_t frame) {
  if (parent_.size() * 3 >= children_.size() * 2) make_room();
  uint32_t& place = place_of(parent, frame);
  if (place == 0) {
    place = uint32_t(parent_.size());
    parent_.push_back(parent);
    frame_.push_back(frame);
  }
  return place;
}

uint32_t& Stacks::place_of(uint32_t parent, uint32_t frame) {
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  uint64_t hash = (uint64_t{parent} << 32 | frame) * kSpread;
  hash ^= hash >> 32;
  for (size_t i = size_t(hash);; ++i) {
    uint32_t& node = children_[i & (children_.size() - 1)];
    if (node == 0 || (parent_[node] == parent && frame_[node] == frame)) return node;
  }
}

void Stacks::make_room() {
  constexpr size_t kMin = 1024;
  children_.assign(std::max(kMin, children_.size() * 2), 0);
  for (uint32_t node = 1; node < parent_.size(); ++node) place_of(parent_[node], frame_[node]) = node;
}

uint32_t Stacks::number(const Frame& frame) {
  const bool native = frame.language == Frame::Language::native;
  const analyzer::Place place = opened_.places.shown(frame);
  const std::string function = place.function.empty() ? place.line : place.function;
  const std::array<uint32_t, 6> row = {native,
                                       texts_.number(text::clean(function)),
                                       texts_.number(text::clean(place.file)),
                                       uint32_t(std::max(frame.line, 0)),
                                       texts_.number(text::clean(native ? frame.object : frame.module)),
                                       native ? 0 : texts_.number(opened_.symbols.source_line(frame))};
  auto [found, fresh] = frames_.try_emplace(row, uint32_t(native_.size()));
  if (fresh) {
    Numbers* const columns[] = {&native_, &function_, &file_, &line_, &object_, &frame_source_};
    for (size_t i = 0; i < row.size(); ++i) columns[i]->push_back(row[i]);
  }
  return found->second;
}

}  // namespace tensorscope::html
