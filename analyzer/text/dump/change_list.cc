// SPDX-License-Identifier: Apache-2.0
#include "text/dump/change_list.h"

#include <fmt/format.h>

#include <map>

#include "text/dump/holders.h"
#include "text/dump/tensor_phrases.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::kNone;
using analyzer::TensorChange;

const char* change_word(TensorChange::Kind kind) {
  switch (kind) {
    case TensorChange::Kind::fresh:
      return "new";
    case TensorChange::Kind::gone:
      return "gone";
    case TensorChange::Kind::grown:
      return "grown";
    case TensorChange::Kind::shrunk:
      return "shrunk";
    case TensorChange::Kind::joined:
      return "now matches";
    case TensorChange::Kind::left:
      return "no match now";
    case TensorChange::Kind::moved:
      return "moved";
    case TensorChange::Kind::graded:
      return "got .grad";
  }
  return "";
}

// Of the rows that are not shown: "12 new, +1.0 MiB; 3 gone, -2.0 KiB".
std::string rest_text(const std::vector<TensorChange>& changes, size_t shown) {
  std::map<TensorChange::Kind, std::pair<uint64_t, int64_t>> sums;
  for (size_t i = shown; i < changes.size(); ++i) {
    sums[changes[i].kind].first += 1;
    sums[changes[i].kind].second += changes[i].kind == TensorChange::Kind::moved ? 0 : changes[i].bytes;
  }
  std::string text;
  for (const auto& [kind, sum] : sums) {
    text += fmt::format("{}{} {}, {}", text.empty() ? "" : "; ", text::count(sum.first), change_word(kind),
                        text::signed_bytes(sum.second));
  }
  return text;
}

}  // namespace

std::string change_list(analyzer::ComparedDumps& dumps, const analyzer::Difference& difference, size_t top,
                        const text::Terminal& terminal) {
  const std::vector<TensorChange>& changes = difference.tensor_changes;
  if (changes.empty()) return "no tensor changed\n";
  text::Table table({{.title = "change"},
                     {.title = "bytes", .align = text::Align::right},
                     {.title = "id"},
                     {.title = "dtype", .leaves = 2},
                     {.title = "shape", .least = 12, .wish = 18},
                     {.title = "category", .least = 9, .wish = 16, .leaves = 1},
                     {.title = "name", .least = 16, .cut = text::Cut::middle, .wish = 30},
                     {.title = "where", .least = 16, .cut = text::Cut::start, .wish = 24}});
  const size_t shown = top == 0 ? changes.size() : std::min(top, changes.size());
  for (size_t i = 0; i < shown; ++i) {
    const TensorChange& change = changes[i];
    analyzer::OpenedDump& opened = change.after != kNone ? dumps.last() : dumps.first();
    const uint32_t index = change.after != kNone ? change.after : change.before;
    const analyzer::Tensor& tensor = opened.dump.tensors[index];
    const bool moved = change.kind == TensorChange::Kind::moved;
    const std::string name = opened.holders.name(index);
    table.row({change_word(change.kind), moved ? text::bytes(uint64_t(change.bytes)) : text::signed_bytes(change.bytes),
               fmt::format("#{}", tensor.serial), tensor.dtype_text(), tensor.shape_text(),
               category_text(opened, index), name.empty() ? brief_holder(opened, index) : name,
               opened.places.at(tensor.site).where});
  }
  std::string text = table.text(terminal);
  if (shown < changes.size()) {
    text += fmt::format("showing {} of {}; --top N. Not shown: {}\n", text::count(shown), text::count(changes.size()),
                        rest_text(changes, shown));
  }
  return text;
}

}  // namespace tensorscope::text
