#include "text/timeline_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::DeviceCurve;
using analyzer::MemoryTimeline;
using analyzer::SiteChurn;
using analyzer::Spike;
using analyzer::StepRow;

constexpr size_t kPlotHeight = 6;
constexpr size_t kSpikesShown = 3;

std::string after_start(const MemoryTimeline& timeline, uint64_t ns) {
  return fmt::format("{} after start", duration(ns - std::min(ns, timeline.start_ns)));
}

std::string in_step(const MemoryTimeline& timeline, uint64_t step) {
  return timeline.steps_seen ? fmt::format(", in step {}", step) : "";
}

std::string place_text(analyzer::Places& places, uint32_t site) {
  const std::string& where = places.at(site).where;
  const std::string& module = places.module_path(site);
  return module.empty() ? where : fmt::format("{}  [{}]", where, module);
}

// Sites that a reader cannot tell apart, as one row: those of one line.
std::vector<SiteChurn> by_place(const std::vector<SiteChurn>& sites, analyzer::Places& places) {
  std::vector<SiteChurn> rows;
  std::unordered_map<std::string, size_t> index;
  for (const SiteChurn& site : sites) {
    const auto [found, fresh] = index.try_emplace(place_text(places, site.site), rows.size());
    if (fresh) {
      rows.push_back(site);
      continue;
    }
    SiteChurn& row = rows[found->second];
    row.allocations += site.allocations;
    row.bytes += site.bytes;
    row.live_at_peak += site.live_at_peak;
    row.live_at_end += site.live_at_end;
    row.short_lived += site.short_lived;
  }
  return rows;
}

std::vector<SiteChurn> by(std::vector<SiteChurn> sites, uint64_t SiteChurn::*field) {
  std::stable_sort(sites.begin(), sites.end(),
                   [field](const SiteChurn& a, const SiteChurn& b) { return a.*field > b.*field; });
  sites.erase(std::find_if(sites.begin(), sites.end(), [field](const SiteChurn& s) { return s.*field == 0; }),
              sites.end());
  return sites;
}

size_t shown(size_t rows, size_t top) { return top == 0 ? rows : std::min(rows, top); }

std::string head(const MemoryTimeline& timeline, const DeviceCurve* curve, const std::vector<SiteChurn>& sites,
                 analyzer::Places& places, const TimelineWords& words) {
  if (curve == nullptr || curve->peak_bytes == 0) return words.file + ": no allocation was recorded.\n";
  const std::vector<SiteChurn> at_peak = by(sites, &SiteChurn::live_at_peak);
  std::string text = fmt::format("Peak {} on {}, {}{}", bytes(curve->peak_bytes), curve->device.text(),
                                 after_start(timeline, curve->peak_ns), in_step(timeline, curve->peak_step));
  if (!at_peak.empty()) {
    text += fmt::format("; {} of it allocated at {}", percent(at_peak[0].live_at_peak, curve->peak_bytes),
                        places.at(at_peak[0].site).where);
  }
  text += fmt::format(".\nAt the end {} were live.\n", bytes(curve->end_bytes));
  return text;
}

std::string plot(const MemoryTimeline& timeline, const DeviceCurve& curve) {
  std::string text =
      fmt::format("\nLive bytes on {} over {}{}\n", curve.device.text(), duration(timeline.end_ns - timeline.begin_ns),
                  timeline.steps_seen ? fmt::format(", {}", counted(timeline.steps.size(), "step")) : "");
  text += curve_plot(curve, kPlotHeight);
  if (curve.reserved_peak != 0) {
    text += fmt::format("  reserved by the device's allocator: at most {}\n", bytes(curve.reserved_peak));
  }
  return text;
}

std::string peak_table(const std::vector<SiteChurn>& sites, analyzer::Places& places, const DeviceCurve& curve,
                       const TimelineWords& words, const Terminal& terminal) {
  const std::vector<SiteChurn> rows = by(sites, &SiteChurn::live_at_peak);
  Table table({{"bytes", Align::right}, {"share", Align::right}, {"at the end", Align::right}, {"allocated at"}});
  const size_t count = shown(rows.size(), words.top);
  uint64_t rest = 0, rest_end = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i >= count) {
      rest += rows[i].live_at_peak;
      rest_end += rows[i].live_at_end;
      continue;
    }
    table.row({bytes(rows[i].live_at_peak), percent(rows[i].live_at_peak, curve.peak_bytes), bytes(rows[i].live_at_end),
               place_text(places, rows[i].site)});
  }
  if (rows.size() > count) {
    table.row({bytes(rest), percent(rest, curve.peak_bytes), bytes(rest_end),
               fmt::format("{} more (--top)", counted(rows.size() - count, "place"))},
              Style::dim);
  }
  table.row({bytes(curve.peak_bytes), "", "", "all"}, Style::bold);
  return "\nAt the peak\n" + table.text(terminal);
}

std::string churn_table(const MemoryTimeline& timeline, const std::vector<SiteChurn>& sites, analyzer::Places& places,
                        const TimelineWords& words, const Terminal& terminal) {
  const std::vector<SiteChurn> rows = by(sites, &SiteChurn::bytes);
  if (rows.empty()) return "";
  const uint64_t steps = timeline.steps_seen ? timeline.steps.size() : 1;
  Table table({{timeline.steps_seen ? "bytes a step" : "bytes", Align::right},
               {timeline.steps_seen ? "allocations a step" : "allocations", Align::right},
               {"temporary", Align::right},
               {"allocated at"}});
  for (size_t i = 0; i < shown(rows.size(), words.top); ++i) {
    table.row(
        {bytes(rows[i].bytes / steps),
         steps == 1 ? count(rows[i].allocations) : fmt::format("{:.1f}", double(rows[i].allocations) / double(steps)),
         percent(rows[i].short_lived, rows[i].bytes), place_text(places, rows[i].site)});
  }
  return fmt::format("\nAllocated over time (temporary: freed {})\n",
                     timeline.steps_seen ? "in the step that allocated it" : "within 10 ms") +
         table.text(terminal);
}

std::string step_table(const MemoryTimeline& timeline, const TimelineWords& words, const Terminal& terminal) {
  if (!timeline.steps_seen) return "";
  const std::vector<size_t> unusual = analyzer::unusual_steps(timeline.steps);
  if (unusual.empty()) return "\nNo step allocates more than its neighbours or has a higher peak.\n";
  Table table({{"step", Align::right},
               {"peak", Align::right},
               {"allocated", Align::right},
               {"allocations", Align::right},
               {"time", Align::right},
               {"live at its end", Align::right}});
  for (size_t i = 0; i < shown(unusual.size(), words.top); ++i) {
    const StepRow& step = timeline.steps[unusual[i]];
    table.row({count(step.number), bytes(step.peak), bytes(step.bytes), count(step.allocations),
               duration(step.end_ns - step.begin_ns), bytes(step.end_live)});
  }
  std::string text = fmt::format("\nSteps that allocate more than their neighbours, or have a higher peak ({} of {})\n",
                                 count(unusual.size()), count(timeline.steps.size()));
  return text + table.text(terminal);
}

std::string lifetimes(const MemoryTimeline& timeline, const Terminal& terminal) {
  static constexpr const char* kNames[MemoryTimeline::kLifetimes] = {
      "under 1 ms", "1 to 10 ms", "10 to 100 ms", "0.1 to 1 s", "1 to 10 s", "over 10 s", "to the end"};
  Table table({{"lived"}, {"allocations", Align::right}, {"bytes", Align::right}});
  for (size_t i = 0; i < MemoryTimeline::kLifetimes; ++i) {
    if (timeline.lifetime_counts[i] == 0) continue;
    table.row({kNames[i], count(timeline.lifetime_counts[i]), bytes(timeline.lifetime_bytes[i])});
  }
  return table.empty() ? "" : "\nHow long allocations lived\n" + table.text(terminal);
}

std::string spike_table(const MemoryTimeline& timeline, analyzer::Places& places, const Terminal& terminal) {
  if (timeline.spikes.empty()) return "";
  Table table({{"bytes", Align::right}, {"lasted", Align::right}, {"when"}, {"its last allocation"}});
  for (size_t i = 0; i < std::min(kSpikesShown, timeline.spikes.size()); ++i) {
    const Spike& spike = timeline.spikes[i];
    table.row({bytes(spike.bytes), duration(spike.end_ns - spike.begin_ns),
               after_start(timeline, spike.peak_ns) + in_step(timeline, spike.step), place_text(places, spike.site)});
  }
  return "\nHighest spikes (bytes above both sides)\n" + table.text(terminal);
}

std::string coverage(const MemoryTimeline& timeline, const TimelineWords& words) {
  std::string text = fmt::format("\n{}: {}", words.file, counted(timeline.events, "event"));
  if (timeline.lost != 0) text += fmt::format("; {} lost, the curves have gaps there", counted(timeline.lost, "event"));
  if (!timeline.ended) text += "; no end: the program still runs or was killed";
  return text + ".\n";
}

}  // namespace

std::string curve_plot(const analyzer::DeviceCurve& curve, size_t height) {
  static constexpr const char* kParts[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const uint64_t top = std::max<uint64_t>(1, curve.peak_bytes);
  std::string text;
  for (size_t line = height; line-- > 0;) {
    const std::string label = line + 1 == height ? bytes(top) : line == 0 ? "0" : "";
    text += fmt::format("  {:>10} │", label);
    for (uint64_t point : curve.highest) {
      const double eighths = double(point) / double(top) * double(height) * 8;
      const double part = std::clamp(eighths - double(line) * 8, 0.0, 8.0);
      text += kParts[size_t(part + 0.5)];
    }
    text += "\n";
  }
  return text;
}

std::string timeline_text(const analyzer::MemoryTimeline& timeline, analyzer::Places& places,
                          const TimelineWords& words, const Terminal& terminal) {
  const DeviceCurve* curve = timeline.curve();
  std::vector<uint32_t> numbers;
  for (const SiteChurn& row : timeline.sites) numbers.push_back(row.site);
  places.prefetch(numbers, true);
  const std::vector<SiteChurn> sites = by_place(timeline.sites, places);
  std::string text = head(timeline, curve, sites, places, words);
  if (curve == nullptr || curve->peak_bytes == 0) return text + coverage(timeline, words);
  text += plot(timeline, *curve);
  text += peak_table(sites, places, *curve, words, terminal);
  text += churn_table(timeline, sites, places, words, terminal);
  text += step_table(timeline, words, terminal);
  text += spike_table(timeline, places, terminal);
  text += lifetimes(timeline, terminal);
  for (const DeviceCurve& other : timeline.curves) {
    if (other.device == timeline.device || other.peak_bytes == 0) continue;
    text += fmt::format("\nOn {} at most {} were live.\n", other.device.text(), bytes(other.peak_bytes));
  }
  return text + coverage(timeline, words);
}

}  // namespace tensorscope::text
