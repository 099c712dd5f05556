#include "commands/group_table.h"

#include <fmt/format.h>

#include "render/units.h"

namespace tensorscope::commands {

namespace {

using model::By;
using model::Frame;
using model::Group;

constexpr size_t kCallers = 3;

// The next Python callers outward from the place: enough to tell two sites on one line apart.
std::string callers(OpenedDump& opened, uint32_t site) {
  const model::Place& place = opened.places.at(site);
  std::string text;
  bool passed = false;
  size_t shown = 0;
  for (const Frame& frame : opened.places.stack(site)) {
    bool is_place =
        frame.file == place.frame.file && frame.line == place.frame.line && frame.function == place.frame.function;
    if (passed && frame.language == place.frame.language && shown < kCallers) {
      text += " <- " + opened.places.describe(frame).where;
      ++shown;
    }
    passed = passed || is_place;
  }
  return text.empty() ? text : text.substr(1);
}

}  // namespace

void add_notes(render::Table& table, size_t column, OpenedDump& opened, const Group& group, By by, bool full_stacks) {
  if (by_place(by) && !group.modules.empty()) table.note(column, "in " + group.modules);
  if (full_stacks) {
    for (const Frame& frame : opened.places.stack(group.site)) {
      std::string line = opened.places.describe(frame).where;
      std::string source = opened.symbols.source_line(frame);
      table.note(column, source.empty() ? "  " + line : fmt::format("  {:<40}  {}", line, source));
    }
  } else if (by == By::site) {
    std::string text = callers(opened, group.site);
    if (!text.empty()) table.note(column, text);
  }
}

std::string group_table(OpenedDump& opened, const std::vector<Group>& groups, By by, uint64_t total, bool full_stacks,
                        const render::Terminal& terminal) {
  render::Table table(
      {{.title = "bytes", .align = render::Align::right},
       {.title = "%", .align = render::Align::right},
       {.title = "count", .align = render::Align::right},
       {.title = "age", .align = render::Align::right},
       {.title = by_place(by) ? "where" : model::kByNames[size_t(by)], .least = 24, .cut = render::Cut::start},
       {.title = "", .least = 12, .style = render::Style::dim}});
  uint64_t now = opened.dump.process.dump_ns;
  for (const Group& group : groups) {
    std::string counted = group.tensors > 0 ? render::count(group.tensors) : render::counted(group.blocks, "block");
    if (group.tensors == 0 && group.blocks == 0) counted = "-";
    std::string age = group.oldest_ns > 0 && group.oldest_ns <= now ? render::age(now - group.oldest_ns) : "?";
    std::string source = by == By::line || by == By::site ? opened.places.source_line(group.site) : "";
    table.row({render::bytes(group.bytes), render::percent(group.bytes, total), counted, age, group.label, source});
    add_notes(table, 4, opened, group, by, full_stacks);
  }
  return table.text(terminal);
}

}  // namespace tensorscope::commands
