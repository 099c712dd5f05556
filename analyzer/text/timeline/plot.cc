// SPDX-License-Identifier: Apache-2.0
#include "text/timeline/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Category;
using analyzer::DeviceCurve;
using analyzer::LiveBytes;
using analyzer::MemoryTimeline;

constexpr size_t kPlotLabel = 13;  // columns left of a plot

char letter(Category category) {
  switch (category) {
    case Category::parameter:
      return 'P';
    case Category::buffer:
      return 'B';
    case Category::gradient:
      return 'G';
    case Category::optimizer_state:
      return 'O';
    case Category::dataset:
      return 'D';
    case Category::input_batch:
      return 'I';
    case Category::kv_cache:
      return 'K';
    case Category::saved_activation:
      return 'A';
    case Category::container:
      return 'C';
    case Category::communication_bucket:
      return 'N';
    case Category::backward_temporary:
      return 'b';
    case Category::output:
      return 'u';
    case Category::variable:
      return 'v';
    case Category::cache:
      return 'h';
    case Category::temporary:
      return 't';
    case Category::workspace:
      return 'w';
    case Category::unknown:
      break;
  }
  return '.';
}

// From the bottom of the plot: as the enumeration has them, what is not known on top.
template <typename Use>
void each_category(Use use) {
  for (size_t i = 1; i < analyzer::kCategories; ++i) use(Category(i));
  use(Category::unknown);
}

// What is drawn at this height of a bar. ' ': nothing.
char at_height(const LiveBytes& live, double bytes) {
  char found = ' ';
  double sum = 0;
  each_category([&](Category category) {
    const double part = double(live.categories[size_t(category)]);
    if (found == ' ' && part > 0 && bytes < sum + part) found = letter(category);
    sum += part;
  });
  return found;
}

std::string label_of(size_t line, size_t height, uint64_t top) {
  return fmt::format("  {:>10} ", line + 1 == height ? bytes(top) : line == 0 ? "0" : "");
}

// Marks where steps begin, if there is a column for each.
std::string axis(const MemoryTimeline& timeline, size_t columns) {
  std::vector<bool> begins(columns);
  const uint64_t length = std::max<uint64_t>(1, timeline.end_ns - timeline.begin_ns);
  if (timeline.steps.size() * 2 <= columns) {
    for (const analyzer::StepRow& step : timeline.steps) {
      const double share = double(step.begin_ns - std::min(step.begin_ns, timeline.begin_ns)) / double(length);
      begins[std::min(columns - 1, size_t(share * double(columns)))] = true;
    }
  }
  std::string text = std::string(kPlotLabel, ' ') + "└";
  for (bool begin : begins) text += begin ? "┴" : "─";
  const auto time = [&](uint64_t ns) { return duration(ns - std::min(ns, timeline.start_ns)); };
  const std::string first = time(timeline.begin_ns), last = time(timeline.end_ns) + " after start";
  std::string middle;
  if (!timeline.steps.empty()) {
    middle = fmt::format("steps {} to {}", timeline.steps.front().number, timeline.steps.back().number);
  }
  const size_t used = first.size() + middle.size() + last.size();
  const size_t room = columns > used ? columns - used : 2;
  return text + "\n" + std::string(kPlotLabel + 1, ' ') + first + std::string(room / 2, ' ') + middle +
         std::string(room - room / 2, ' ') + last + "\n";
}

std::string legend(const DeviceCurve& curve, const Terminal& terminal) {
  Table table({{""}, {"category"}, {"at the peak", Align::right}, {"share", Align::right}});
  const LiveBytes& peak = curve.at_peak;
  std::vector<bool> shown(analyzer::kCategories);
  for (const LiveBytes& part : curve.parts) {
    for (size_t i = 0; i < shown.size(); ++i) shown[i] = shown[i] || part.categories[i] != 0;
  }
  each_category([&](Category category) {
    const uint64_t of = peak.categories[size_t(category)];
    if (!shown[size_t(category)] && of == 0) return;
    table.row({std::string(1, letter(category)), analyzer::text(category), bytes(of), percent(of, peak.bytes)});
  });
  std::string text = table.text(terminal);
  if (peak.inferred != 0) {
    text += fmt::format("  {} of the peak are inferred from call stack and lifetime.\n", bytes(peak.inferred));
  }
  return text;
}

}  // namespace

std::string curve_plot(const std::vector<uint64_t>& points, uint64_t top, size_t height) {
  static constexpr const char* kParts[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  top = std::max<uint64_t>(1, top);
  std::string text;
  for (size_t line = height; line-- > 0;) {
    text += label_of(line, height, top) + "│";
    for (uint64_t point : points) {
      const double eighths = double(point) / double(top) * double(height) * 8;
      const double part = std::clamp(eighths - double(line) * 8, 0.0, 8.0);
      text += kParts[std::lround(part)];
    }
    text += "\n";
  }
  return text;
}

std::string category_plot(const MemoryTimeline& timeline, const DeviceCurve& curve, size_t height,
                          const Terminal& terminal) {
  const uint64_t top = std::max<uint64_t>(1, curve.peak_bytes);
  std::string text;
  for (size_t line = height; line-- > 0;) {
    text += label_of(line, height, top) + "│";
    const double level = (double(line) + 0.5) / double(height) * double(top);
    std::string cells;
    for (const LiveBytes& part : curve.parts) cells += at_height(part, level);
    cells.resize(cells.find_last_not_of(' ') + 1);
    text += cells + "\n";
  }
  return text + axis(timeline, curve.parts.size()) + legend(curve, terminal);
}

}  // namespace tensorscope::text
