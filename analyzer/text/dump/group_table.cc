// SPDX-License-Identifier: Apache-2.0
#include "text/dump/group_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "text/dump/holders.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Frame;
using analyzer::Group;
using analyzer::GroupBy;

// Who called the site: of several call paths the one with the most bytes, and its share.
std::string callers(analyzer::OpenedDump& opened, const Group& group) {
  std::map<std::string, uint64_t> ways;
  for (const auto& [site, bytes] : group.site_bytes) ways[opened.places.callers(site)] += bytes;
  auto most =
      std::max_element(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == ways.end() || most->first.empty()) return "";
  std::string text = fmt::format("called by {}", most->first);
  if (ways.size() > 1 && group.bytes > 0) text += fmt::format(" ({})", text::percent(most->second, group.bytes));
  return text;
}

// The forward lines of what an autograd worker made, the one that holds the most first.
std::string backward_of(analyzer::OpenedDump& opened, const Group& group) {
  std::map<std::string, uint64_t> lines;
  for (const auto& [site, bytes] : group.forward_bytes) lines[opened.places.at(site).where] += bytes;
  auto most =
      std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == lines.end()) return "";
  std::string text = fmt::format("in the backward of {}", most->first);
  if (group.bytes > most->second) text += fmt::format(" ({})", text::percent(most->second, group.bytes));
  if (lines.size() > 1) text += fmt::format(" and {} more", lines.size() - 1);
  return text;
}

void add_held(text::Table& table, size_t column, const analyzer::OpenedDump& opened, const Group& group) {
  for (const std::string& line : held_lines(opened, group)) {
    table.note(column, line, text::Style::dim, text::Cut::middle);
  }
}

}  // namespace

void add_notes(text::Table& table, size_t column, analyzer::OpenedDump& opened, const Group& group, GroupBy by,
               bool full_stacks) {
  if (!by_place(by)) return;
  const bool in_module = !group.modules.empty() && group.modules != "...";
  if (full_stacks) {
    add_held(table, column, opened, group);
    if (in_module) table.note(column, fmt::format("in {}", group.modules));
    for (const Frame& frame : opened.places.stack(group.site)) {
      std::string line = opened.places.shown(frame).where;
      std::string source = opened.symbols.source_line(frame);
      table.note(column, source.empty() ? fmt::format("  {}", line) : fmt::format("  {:<40}  {}", line, source));
    }
    return;
  }
  std::string text = callers(opened, group);
  if (in_module) text = fmt::format("in {}{}{}", group.modules, text.empty() ? "" : "; ", text);
  if (!text.empty()) table.note(column, text);
  const std::string backward = backward_of(opened, group);
  if (!backward.empty()) table.note(column, backward);
  add_held(table, column, opened, group);
}

std::string group_table(analyzer::OpenedDump& opened, const std::vector<Group>& groups, GroupBy by, uint64_t total,
                        bool full_stacks, const text::Terminal& terminal) {
  text::Table table(
      {{.title = "bytes", .align = text::Align::right},
       {.title = "%", .align = text::Align::right},
       {.title = "count", .align = text::Align::right},
       {.title = "age", .align = text::Align::right},
       {.title = by_place(by) ? "where" : analyzer::kByNames[size_t(by)], .least = 24, .cut = text::Cut::start},
       {.title = "", .least = 12, .style = text::Style::dim}});
  uint64_t now = opened.dump.process.dump_ns;
  for (const Group& group : groups) {
    std::string counted = group.tensors > 0  ? text::count(group.tensors)
                          : group.blocks > 0 ? text::counted(group.blocks, "block")
                                             : "-";
    std::string age = group.oldest_ns > 0 && group.oldest_ns <= now ? text::age(now - group.oldest_ns) : "?";
    std::string source = by == GroupBy::line || by == GroupBy::site ? opened.places.source_line(group.site) : "";
    table.row({text::bytes(group.bytes), text::percent(group.bytes, total), counted, age, group.label, source});
    add_notes(table, 4, opened, group, by, full_stacks);
  }
  return table.text(terminal);
}

}  // namespace tensorscope::text
