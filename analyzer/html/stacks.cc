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
  auto [found, fresh] = rows_.try_emplace(site, uint32_t(where_.size()) + 1);
  if (fresh) add(site);
  return found->second;
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
  const std::vector<Frame>& stack = opened_.places.stack(site);
  uint64_t node = 0;
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) node = child(node, number(*frame));
  leaf_.push_back(node);
}

uint64_t Stacks::child(uint64_t parent, uint64_t frame) {
  auto [found, fresh] = children_.try_emplace({parent, frame}, parent_.size());
  if (fresh) {
    parent_.push_back(parent);
    frame_.push_back(frame);
  }
  return found->second;
}

uint64_t Stacks::number(const Frame& frame) {
  const bool native = frame.language == Frame::Language::native;
  const analyzer::Place place = opened_.places.describe(frame);
  const std::string function = place.function.empty() ? place.line : place.function;
  const std::array<uint64_t, 6> row = {native,
                                       texts_.number(text::clean(function)),
                                       texts_.number(text::clean(place.file)),
                                       uint64_t(std::max(frame.line, 0)),
                                       texts_.number(text::clean(native ? frame.object : frame.module)),
                                       native ? 0 : texts_.number(opened_.symbols.source_line(frame))};
  auto [found, fresh] = frames_.try_emplace(row, native_.size());
  if (fresh) {
    std::vector<uint64_t>* const columns[] = {&native_, &function_, &file_, &line_, &object_, &frame_source_};
    for (size_t i = 0; i < row.size(); ++i) columns[i]->push_back(row[i]);
  }
  return found->second;
}

}  // namespace tensorscope::html
