// SPDX-License-Identifier: Apache-2.0
#include "text/dump/change_table.h"

#include "text/dump/group_table.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

using analyzer::Change;

namespace {

// "+32 +32 +31": tensors, or bytes where the number of tensors stayed as it was.
std::string intervals(const Change& change) {
  bool counts = false;
  for (uint64_t value : change.tensors) counts = counts || value != change.tensors.front();
  std::string text;
  for (size_t i = 1; i < change.bytes.size(); ++i) {
    if (i > 1) text += ' ';
    text += counts ? text::signed_count(int64_t(change.tensors[i] - change.tensors[i - 1]))
                   : text::signed_bytes(int64_t(change.bytes[i] - change.bytes[i - 1]));
  }
  return text;
}

}  // namespace

std::string change_table(analyzer::ComparedDumps& dumps, const std::vector<Change>& changes, analyzer::GroupBy by,
                         size_t top, bool full_stacks, const text::Terminal& terminal) {
  bool several = dumps.size() > 2;
  std::vector<text::Column> columns = {
      {.title = "bytes", .align = text::Align::right},
      {.title = "count", .align = text::Align::right},
      {.title = "each interval"},
      {.title = ""},
      {.title = by_place(by) ? "where" : analyzer::kByNames[size_t(by)], .least = 24, .cut = text::Cut::start},
      {.title = "", .least = 12, .style = text::Style::dim}};
  constexpr size_t kWhere = 4;
  text::Table table(columns);
  for (size_t i = 0; i < changes.size() && (top == 0 || i < top); ++i) {
    const Change& change = changes[i];
    analyzer::OpenedDump& opened = dumps[change.dump];
    std::string source = by == analyzer::GroupBy::line || by == analyzer::GroupBy::site
                             ? opened.places.source_line(change.group.site)
                             : "";
    text::Style style = change.steady ? text::Style::bad : text::Style::plain;
    table.row({text::signed_bytes(change.byte_growth()), text::signed_count(change.tensor_growth()),
               several ? intervals(change) : "", change.steady ? "steady" : "", change.label, source},
              style);
    add_notes(table, kWhere, opened, change.group, by, full_stacks);
  }
  return table.text(terminal);
}

}  // namespace tensorscope::text
