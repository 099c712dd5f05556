// SPDX-License-Identifier: Apache-2.0
#include "top/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/table.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::top {

namespace {

constexpr const char* kKeys[] = {"q quit",    "s sort",  "v view",      "/ filter",     "m mark",
                                 "r refresh", "n names", "space pause", "+ - interval", "up down scroll"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string devices_text(const TopHead& head) {
  std::string text;
  for (const TopDevice& device : head.devices) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {}, peak {}", device.name, text::bytes(device.live), text::bytes(device.peak));
    if (device.reserved != 0) text += fmt::format(", reserved {}", text::bytes(device.reserved));
  }
  return text;
}

std::string cost_text(const TopHead& head) {
  const std::string every =
      fmt::format("every {}{}", text::duration(head.interval_ns), head.slowed ? " (longer than asked for)" : "");
  if (head.interval_ns != 0 && head.names_interval_ns > head.interval_ns) {
    const double share = double(head.cost.paused_ns) / double(head.interval_ns) +
                         double(head.cost.gil_ns) / double(head.names_interval_ns);
    return fmt::format("{}; {:.1f} % of the program's time: {} paused; names every {}: {} with Python's lock", every,
                       100 * share, text::duration(head.cost.paused_ns), text::duration(head.names_interval_ns),
                       text::duration(head.cost.gil_ns));
  }
  const std::string cost =
      fmt::format("a refresh costs the program {} ({} paused, {} with Python's lock)", text::duration(head.cost.all()),
                  text::duration(head.cost.paused_ns), text::duration(head.cost.gil_ns));
  if (head.interval_ns == 0) return cost;
  const double share = 100 * double(head.cost.all()) / double(head.interval_ns);
  return fmt::format("{}; {}, {:.1f} % of its time", every, cost, share);
}

}  // namespace

std::vector<std::string> top_head(const TopHead& head, const text::Terminal& terminal) {
  std::string first = fmt::format("{} live in {}", text::bytes(head.live), text::counted(head.tensors, "tensor"));
  if (head.mark_age_ns)
    first +=
        fmt::format(", {} since the mark {} ago", text::signed_bytes(head.growth), text::duration(*head.mark_age_ns));
  std::string shown = fmt::format("by {}, sorted by {}", head.by, head.sort);
  if (!head.filter.empty()) shown += fmt::format(", with '{}'", head.filter);
  if (head.names) {
    shown += fmt::format("; names {} old, {} newer", text::duration(head.names->age_ns),
                         text::counted(head.names->newer, "tensor"));
  }
  if (head.shown < head.rows) {
    shown += fmt::format("; {} to {} of {}", text::count(head.first + 1), text::count(head.first + head.shown),
                         text::count(head.rows));
  }
  std::vector<std::string> lines;
  for (const std::string& line : {first, head.process, devices_text(head), cost_text(head), shown}) {
    lines.push_back(terminal.width > 0 ? text::cut(text::clean(line), terminal.width, text::Cut::end)
                                       : text::clean(line));
  }
  return lines;
}

std::vector<std::string> top_table(const std::vector<TopRow>& rows, uint64_t total, const std::string& by,
                                   const text::Terminal& terminal) {
  text::Table table({{"bytes", text::Align::right},
                     {"%", text::Align::right},
                     {"since mark", text::Align::right},
                     {"tensors", text::Align::right},
                     {.title = by, .least = 20}},
                    0);
  for (const TopRow& row : rows) {
    table.row({text::bytes(row.bytes), text::percent(row.bytes, total),
               row.growth == 0 ? "-" : text::signed_bytes(row.growth), text::count(row.tensors), row.label});
  }
  return lines_of(table.text(terminal));
}

std::string top_keys(int width) {
  std::string text;
  for (const char* key : kKeys) {
    const std::string longer = text + (text.empty() ? "" : "   ") + key;
    if (int(longer.size()) > width) break;
    text = longer;
  }
  return text;
}

}  // namespace tensorscope::top
