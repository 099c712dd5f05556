// SPDX-License-Identifier: Apache-2.0
#include "text/dump/line_memory.h"

#include <fmt/format.h>

#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

constexpr int kMaxBetween = 3;  // lines without memory that are shown between two others

using analyzer::SourcePlace;

std::string source_of(analyzer::OpenedDump& opened, const SourcePlace& place, int line) {
  analyzer::Frame frame;
  frame.language = analyzer::Frame::Language::python;
  frame.function = place.function;
  frame.file = place.file;
  frame.line = line;
  return opened.symbols.source_line(frame);
}

std::string bytes_or_dash(uint64_t value) { return value == 0 ? "-" : bytes(value); }

class FileTable {
 public:
  explicit FileTable(analyzer::OpenedDump& opened) : opened_(opened) {}

  void add(const SourcePlace& place, const analyzer::LineMemory& memory) {
    if (last_ != 0 && place.line - last_ - 1 > kMaxBetween) table_.row({"", "", "", "", "", "..."}, Style::dim);
    if (last_ != 0 && place.line - last_ - 1 <= kMaxBetween) {
      for (int line = last_ + 1; line < place.line; ++line) {
        table_.row({"", "", "", "", std::to_string(line), source_of(opened_, place, line)}, Style::dim);
      }
    }
    last_ = place.line;
    const std::string source = source_of(opened_, place, place.line);
    table_.row({bytes(memory.peak), bytes_or_dash(memory.live), bytes_or_dash(memory.live_at_peak),
                count(memory.allocations), std::to_string(place.line), source.empty() ? place.function : source});
  }
  std::string text(const Terminal& terminal) const { return table_.text(terminal); }

 private:
  analyzer::OpenedDump& opened_;
  Table table_{{{"peak", Align::right},
                {"still held", Align::right},
                {"at the peak", Align::right},
                {"allocations", Align::right},
                {"line", Align::right},
                {.title = "source", .least = 20}}};
  int last_ = 0;
};

}  // namespace

std::string line_memory_text(const analyzer::MemoryTimeline& timeline, const analyzer::LinesOfSites& lines,
                             analyzer::OpenedDump& opened, const Terminal& terminal) {
  std::string text = fmt::format(
      "Memory on {} by source line: of everything that was allocated while the line ran, the most at once, what is "
      "left "
      "at the end, and what was live at the peak of the program.\n",
      timeline.device.text());
  text = wrap(text, terminal.width, 0);
  bool any = false;
  for (size_t i = 0; i < lines.lines.size();) {
    FileTable table(opened);
    const std::string& file = lines.lines[i].file;
    bool rows = false;
    for (; i < lines.lines.size() && lines.lines[i].file == file; ++i) {
      if (timeline.lines[i].peak == 0) continue;
      table.add(lines.lines[i], timeline.lines[i]);
      rows = true;
    }
    if (rows)
      text +=
          "\n" + clean(analyzer::short_path(file, opened.dump.process.working_directory)) + "\n" + table.text(terminal);
    any = any || rows;
  }
  return any ? text : "No line of this file is on the call stack of an allocation.\n";
}

}  // namespace tensorscope::text
