// SPDX-License-Identifier: Apache-2.0
#include "text/dump/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "memory/run_growth.h"
#include "text/dump/moment_phrases.h"
#include "text/table.h"
#include "text/text.h"
#include "text/timeline/plot.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Category;
using analyzer::CategorySource;
using analyzer::Device;
using analyzer::Dump;
using analyzer::GrowthKind;
using analyzer::History;
using analyzer::MomentKind;
using analyzer::peak_of;
using analyzer::PeakPlace;
using analyzer::RunGrowth;

constexpr size_t kMaxColumns = 60;  // of a curve
constexpr size_t kMinColumns = 4;   // fewer moments are no curve
constexpr uint64_t kNearlyAll = 20;

bool any_step(const History& history) {
  return std::any_of(history.points.begin(), history.points.end(),
                     [](const analyzer::HistoryPoint& point) { return point.kind == MomentKind::step; });
}

bool knows(const History& history, std::optional<Device> device) {
  if (!history.present() || history.devices.empty()) return false;
  return !device || std::find(history.devices.begin(), history.devices.end(), *device) != history.devices.end();
}

// The one that a sentence is about: whose memory grew most, else that had the most.
size_t subject(const History& history, std::optional<Device> only) {
  for (size_t device = 0; only && device < history.devices.size(); ++device) {
    if (history.devices[device] == *only) return device;
  }
  return analyzer::leading_device(history);
}

std::string compared(const RunGrowth& growth) {
  if (!growth.by_step) return fmt::format("over {}", duration(growth.units * 1'000'000'000));
  return fmt::format("from step {} to {}", count(growth.first_step), count(growth.last_step));
}

// "in step 12", "" where steps were counted otherwise by then, or not at all.
std::string step_of_peak(const Dump& dump) {
  const analyzer::Peak& peak = dump.peak;
  if (!dump.history.present() || !any_step(dump.history)) return "";
  if (peak.source != dump.history.points.back().source && peak.source != 0) return "";
  return fmt::format(" in step {}", count(peak.step + 1));
}

std::string largest_place(const Dump& dump, const analyzer::PeakPlaces& places) {
  if (places.rows.empty()) return "";
  const PeakPlace& most = places.rows.front();
  return fmt::format("{}, {} ({})", most.where, bytes(most.bytes), percent(most.bytes, dump.peak.bytes));
}

std::string after_start(const Dump& dump, uint64_t ns) {
  return duration(ns - std::min(ns, dump.process.start_ns)) + " after start";
}

// What torch.nn makes for a module, its stack does not tell apart.
std::string category_text(Category category, CategorySource source) {
  if (category == Category::unknown) return "not known";
  if (source != CategorySource::inferred) return analyzer::text(category);
  return (category == Category::parameter ? std::string("parameter or buffer") : analyzer::text(category)) +
         kInferredMark;
}

// "saved activation ~", with its share of the row if others are in it.
std::string category_of(const PeakPlace& row) {
  const Category most = row.categories.most();
  const std::string text = category_text(most, row.categories.source(most));
  const std::string share = percent(row.categories.bytes(most), row.bytes);
  return most == Category::unknown || share == "100 %" ? text : text + " " + share;
}

// "saved activation ~ 20.1 MiB, gradient ~ 8.0 MiB, not known 1.0 MiB", the largest first.
std::string by_category(const analyzer::PeakCategories& categories) {
  std::vector<Category> present;
  for (size_t i = 1; i <= analyzer::kCategories; ++i) {
    const auto category = Category(i % analyzer::kCategories);
    if (categories.bytes(category) != 0) present.push_back(category);
  }
  std::stable_sort(present.begin(), present.end(), [&](Category a, Category b) {
    if ((a == Category::unknown) != (b == Category::unknown)) return b == Category::unknown;
    return categories.bytes(a) > categories.bytes(b);
  });
  std::string text;
  for (const Category category : present) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", category_text(category, categories.source(category)),
                        bytes(categories.bytes(category)));
  }
  return text;
}

bool any_inferred(const analyzer::PeakCategories& categories) {
  for (size_t i = 0; i < analyzer::kCategories; ++i) {
    if (categories.source(Category(i)) == CategorySource::inferred) return true;
  }
  return false;
}

}  // namespace

std::string growth_sentence(const Dump& dump, std::optional<Device> only) {
  const History& history = dump.history;
  if (!knows(history, only)) return "";
  const size_t device = subject(history, only);
  const RunGrowth growth = analyzer::run_growth(history, device);
  const std::string name = history.devices[device].text() + " memory";
  const char* const at = growth.by_step ? " at the end of a step" : "";
  switch (growth.kind) {
    case GrowthKind::grew:
      return fmt::format("{} grew by {} a {} {}: {} to {}{}", name, bytes(uint64_t(std::llround(growth.bytes_each))),
                         growth.by_step ? "step" : "second", compared(growth), bytes(growth.first), bytes(growth.last),
                         at);
    case GrowthKind::grew_first:
      return fmt::format("{} grew from {} to {}{}, {}, but not all the time", name, bytes(growth.first),
                         bytes(growth.last), at, compared(growth));
    case GrowthKind::steady:
      return growth.lowest == growth.highest
                 ? fmt::format("{} did not grow {}: {}{}", name, compared(growth), bytes(growth.lowest), at)
                 : fmt::format("{} did not grow {}: it was between {} and {}{}", name, compared(growth),
                               bytes(growth.lowest), bytes(growth.highest), at);
    case GrowthKind::unknown:
      break;
  }
  return fmt::format("Whether memory grew is not known: too few {} were seen.",
                     growth.by_step ? "ends of steps" : "steps or seconds");
}

bool growth_is_known(const Dump& dump) {
  const History& history = dump.history;
  return knows(history, std::nullopt) &&
         analyzer::run_growth(history, subject(history, std::nullopt)).kind != GrowthKind::unknown;
}

std::string history_curve(const Dump& dump, const Terminal& terminal, std::optional<Device> only) {
  const History& history = dump.history;
  if (history.points.size() < kMinColumns) return "";
  constexpr size_t kLabels = 14;
  size_t columns = std::min(history.points.size(), kMaxColumns);
  if (terminal.width > int(kLabels + kMinColumns)) columns = std::min(columns, size_t(terminal.width) - kLabels);
  uint64_t most = 0;
  for (size_t device = 0; device < history.devices.size(); ++device) most = std::max(most, peak_of(history, device));
  std::string text;
  for (size_t device = 0; device < history.devices.size(); ++device) {
    const uint64_t top = peak_of(history, device);
    if (only ? history.devices[device] != *only : top < most / 100) continue;
    if (top == 0) continue;
    std::vector<uint64_t> heights(columns);
    for (size_t i = 0; i < history.points.size(); ++i) {
      uint64_t& height = heights[i * columns / history.points.size()];
      height = std::max(height, history.level(i, device).peak);
    }
    const char* const of = any_step(history) ? "steps" : "seconds";
    text += fmt::format("{}: the most live bytes over the run, {}\n", history.devices[device].text(), of);
    text += curve_plot(heights, top, 2);
  }
  return text;
}

std::string peak_line(const Dump& dump) {
  if (!dump.peak.present) return "";
  const uint64_t now = dump.process.dump_ns;
  return fmt::format("{}{}, {} before this dump", bytes(dump.peak.bytes), step_of_peak(dump),
                     duration(now - std::min(now, dump.peak.ns)));
}

bool nearly_all_freed(const analyzer::OpenedDump& opened) {
  const Dump& dump = opened.dump;
  return dump.peak.present && opened.accounts.total_bytes() < dump.peak.bytes / kNearlyAll;
}

std::string freed_answer(const analyzer::OpenedDump& opened, const analyzer::PeakPlaces& places) {
  const Dump& dump = opened.dump;
  const uint64_t live = opened.accounts.total_bytes();
  std::string text = live == 0 ? "Everything was freed before this dump."
                               : fmt::format("Nearly everything was freed before this dump: {} live in {}.",
                                             bytes(live), counted(dump.tensors.size(), "tensor"));
  text += fmt::format(" Peak: {}{}", bytes(dump.peak.bytes), step_of_peak(dump));
  const std::string largest = largest_place(dump, places);
  return largest.empty() ? text : text + "; largest allocation site then: " + largest;
}

std::string peak_answer(const Dump& dump, const analyzer::PeakPlaces& places) {
  std::string text = fmt::format("{} live at the highest peak so far{}", bytes(dump.peak.bytes), step_of_peak(dump));
  const std::string largest = largest_place(dump, places);
  return largest.empty() ? text : text + "; largest allocation site: " + largest;
}

std::string peak_moment(const Dump& dump, const Terminal& terminal) {
  const analyzer::Peak& peak = dump.peak;
  const analyzer::PeakGap gap = analyzer::peak_gap(dump);
  std::string text = fmt::format("Kept {}, {} before this dump", after_start(dump, peak.ns),
                                 duration(dump.process.dump_ns - std::min(dump.process.dump_ns, peak.ns)));
  if (gap.exact && gap.bytes == 0) {
    text += ": the peak itself.";
  } else if (gap.exact) {
    text += fmt::format("; the peak itself is {}, {} more.", bytes(peak.bytes + gap.bytes), bytes(gap.bytes));
  } else {
    text += fmt::format("; the peak of all devices together is {} more at most.", bytes(gap.bytes));
  }
  if (peak.devices.size() > 1) {
    std::string parts;
    for (const analyzer::PeakDevice& row : peak.devices) {
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", row.device.text(), bytes(row.bytes));
    }
    text += fmt::format(" Live then: {}.", parts);
  }
  text += " Names and holders are not known of what is freed.";
  return wrap(clean(text), terminal.width, 2) + "\n";
}

std::string peak_categories_line(const analyzer::PeakPlaces& places, const Terminal& terminal) {
  std::string text = "By category: " + by_category(places.categories) + ".";
  if (any_inferred(places.categories)) text += " ~: inferred from where memory was made and how it was freed.";
  return wrap(text, terminal.width, 2) + "\n";
}

std::string peak_table(analyzer::OpenedDump& opened, const analyzer::PeakPlaces& places, size_t top,
                       const Terminal& terminal) {
  const uint64_t all = opened.dump.peak.bytes;
  const size_t shown = top == 0 ? places.rows.size() : std::min(top, places.rows.size());
  Table table({{.title = "bytes", .align = Align::right},
               {.title = "%", .align = Align::right},
               {.title = "blocks", .align = Align::right},
               {.title = "category"},
               {.title = "where", .least = 24, .cut = Cut::start},
               {.title = "", .least = 12, .style = Style::dim}});
  uint64_t rest = places.other_bytes, rest_blocks = places.other_allocations;
  for (size_t i = 0; i < places.rows.size(); ++i) {
    const PeakPlace& row = places.rows[i];
    if (i >= shown) {
      rest += row.bytes;
      rest_blocks += row.allocations;
      continue;
    }
    table.row({bytes(row.bytes), percent(row.bytes, all), count(row.allocations), category_of(row), row.where,
               opened.places.source_line(row.site)});
    const std::string callers = opened.places.callers(row.site);
    if (!callers.empty()) table.note(4, "called by " + callers);
  }
  const size_t others = places.rows.size() - shown;
  if (rest != 0) {
    std::string what = others > 0 ? counted(others, "more line") : "";
    if (places.other_sites > 0) what += (what.empty() ? "" : " and ") + counted(places.other_sites, "smaller site");
    table.row({bytes(rest), percent(rest, all), count(rest_blocks), "", what + "  (--top N)", ""});
  }
  if (places.unattributed != 0) {
    table.row(
        {signed_bytes(places.unattributed), "", "", "", "allocated or freed by other threads at that moment", ""});
  }
  return table.text(terminal);
}

}  // namespace tensorscope::text
