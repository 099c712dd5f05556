// SPDX-License-Identifier: Apache-2.0
#include "text/timeline/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "text/table.h"
#include "text/timeline/plot.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::DeviceCurve;
using analyzer::MemoryTimeline;
using analyzer::SiteChurn;
using analyzer::Spike;
using analyzer::StepRow;

constexpr size_t kPlotHeight = 12, kReservedHeight = 4;
constexpr size_t kSpikesShown = 3, kPartsOfSpike = 3;

std::string after_start(const MemoryTimeline& timeline, uint64_t ns) {
  return fmt::format("{} after start", duration(ns - std::min(ns, timeline.start_ns)));
}

std::string in_step(const MemoryTimeline& timeline, uint64_t step) {
  return timeline.steps_seen ? fmt::format(", in step {}", step) : "";
}

std::string place_text(analyzer::Places& places, uint32_t site, const char* space = "  ") {
  const std::string& where = places.at(site).where;
  const std::string& module = places.module_path(site);
  return module.empty() ? where : fmt::format("{}{}[{}]", where, space, module);
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
                        place_text(places, at_peak[0].site, " "));
  }
  text += fmt::format(".\nAt the end {} were live.\n", bytes(curve->end_bytes));
  return text;
}

// "71 % (largest free block 76.0 MiB of 259.0 MiB)"
std::string fragmentation(const analyzer::FreeMemory& at) {
  return fmt::format("{:.0f} % (largest free block {} of {})", at.fragmentation() * 100, bytes(at.largest),
                     bytes(at.free));
}

std::string fragmentation_line(const MemoryTimeline& timeline, const DeviceCurve& curve) {
  if (curve.free_memory.empty()) return "";
  const auto most =
      std::max_element(curve.free_memory.begin(), curve.free_memory.end(),
                       [](const auto& a, const auto& b) { return a.free - a.largest < b.free - b.largest; });
  return fmt::format("Fragmentation: at the peak {}; most {}, {}\n", fragmentation(curve.free_at_peak),
                     fragmentation(*most), after_start(timeline, most->ns));
}

std::string reserved_plot(const MemoryTimeline& timeline, const DeviceCurve& curve) {
  if (curve.reserved_peak == 0) return "";
  std::string text =
      fmt::format("\nReserved by the allocator of {}: at most {}", curve.device.text(), bytes(curve.reserved_peak));
  if (curve.reserved_at_peak != 0) {
    const uint64_t unused = curve.reserved_at_peak - std::min(curve.reserved_at_peak, curve.allocated_at_peak);
    text += fmt::format("; at the peak {}, {} of it free ({})", bytes(curve.reserved_at_peak), bytes(unused),
                        percent(unused, curve.reserved_at_peak));
  }
  text += "\n" + curve_plot(curve.reserved, curve.reserved_peak, kReservedHeight);
  const uint64_t most = *std::max_element(curve.unused.begin(), curve.unused.end());
  return text + fmt::format("Reserved but free: at most {}\n", bytes(most)) +
         curve_plot(curve.unused, curve.reserved_peak, kReservedHeight) + fragmentation_line(timeline, curve);
}

std::string plot(const MemoryTimeline& timeline, const DeviceCurve& curve, const Terminal& terminal) {
  std::string text =
      fmt::format("\nLive bytes on {} over {}{}\n", curve.device.text(), duration(timeline.end_ns - timeline.begin_ns),
                  timeline.steps_seen ? fmt::format(", {}", counted(timeline.steps.size(), "step")) : "");
  text += timeline.categories_known ? category_plot(timeline, curve, kPlotHeight, terminal)
                                    : curve_plot(curve.highest, curve.peak_bytes, kPlotHeight);
  return text + reserved_plot(timeline, curve);
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

// The category that is the largest part of what a step has more at its peak than the one before or after it.
std::string more_of(const MemoryTimeline& timeline, size_t at) {
  if (!timeline.categories_known || timeline.steps.size() < 2) return "";
  const StepRow& step = timeline.steps[at];
  const StepRow& other = timeline.steps[at > 0 ? at - 1 : at + 1];
  uint64_t most = 0;
  std::string name;
  for (size_t i = 0; i < analyzer::kCategories; ++i) {
    const uint64_t now = step.at_peak.categories[i], then = other.at_peak.categories[i];
    if (now <= then || now - then <= most) continue;
    most = now - then;
    name = analyzer::text(analyzer::Category(i));
  }
  return most == 0 ? "" : fmt::format("{}, {}", name, signed_bytes(int64_t(most)));
}

std::string step_table(const MemoryTimeline& timeline, const TimelineWords& words, const Terminal& terminal) {
  if (!timeline.steps_seen) return "";
  const std::vector<size_t> unusual = analyzer::unusual_steps(timeline.steps);
  if (unusual.empty()) return "\nNo step allocates more than its neighbours or has a higher peak.\n";
  Table table({{"step", Align::right},
               {"peak", Align::right},
               {"usual", Align::right},
               {"allocated", Align::right},
               {"usual", Align::right},
               {"allocations", Align::right},
               {"time", Align::right},
               {"live at its end", Align::right},
               {"more of"}});
  for (size_t i = 0; i < shown(unusual.size(), words.top); ++i) {
    const StepRow& step = timeline.steps[unusual[i]];
    const StepRow usual = analyzer::usual_step(timeline.steps, unusual[i]);
    table.row({count(step.number), bytes(step.peak), bytes(usual.peak), bytes(step.bytes), bytes(usual.bytes),
               count(step.allocations), duration(step.end_ns - step.begin_ns), bytes(step.end_live),
               more_of(timeline, unusual[i])});
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

// By place, the largest first.
std::vector<std::pair<std::string, uint64_t>> spike_parts(const Spike& spike, analyzer::Places& places) {
  std::vector<std::pair<std::string, uint64_t>> rows;
  for (const Spike::Part& part : spike.parts) {
    const std::string place = place_text(places, part.site);
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == place; });
    if (found == rows.end()) {
      rows.emplace_back(place, part.bytes);
    } else {
      found->second += part.bytes;
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

std::string part_text(const std::pair<std::string, uint64_t>& part) {
  return fmt::format("{:>9}  {}", bytes(part.second), part.first);
}

std::string spike_table(const MemoryTimeline& timeline, analyzer::Places& places, const Terminal& terminal) {
  if (timeline.spikes.empty()) return "";
  Table table({{"bytes", Align::right}, {"lasted", Align::right}, {"when"}, {"what was allocated"}});
  for (size_t i = 0; i < std::min(kSpikesShown, timeline.spikes.size()); ++i) {
    const Spike& spike = timeline.spikes[i];
    const std::string when = after_start(timeline, spike.peak_ns) + in_step(timeline, spike.step);
    const std::vector<std::pair<std::string, uint64_t>> parts = spike_parts(spike, places);
    table.row({bytes(spike.bytes), duration(spike.end_ns - spike.begin_ns), when,
               parts.empty() ? place_text(places, spike.site) : part_text(parts.front())});
    for (size_t part = 1; part < std::min(kPartsOfSpike, parts.size()); ++part) {
      table.row({"", "", "", part_text(parts[part])}, Style::dim);
    }
  }
  return "\nHighest spikes (bytes above both sides)\n" + table.text(terminal);
}

std::string coverage(const MemoryTimeline& timeline, const TimelineWords& words) {
  std::string text = fmt::format("\n{}: {}", words.file, counted(timeline.events, "event"));
  if (timeline.lost != 0) text += fmt::format("; {} lost, the curves have gaps there", counted(timeline.lost, "event"));
  if (timeline.is_last_part) {
    text += fmt::format("; the last part only, from {} on", after_start(timeline, timeline.begin_ns));
  }
  if (!timeline.cut_short.empty()) {
    text +=
        fmt::format("; cut short {}: could not {}", after_start(timeline, timeline.end_ns), clean(timeline.cut_short));
  }
  if (!timeline.ended) text += "; no end: the program still runs or was killed";
  return text + ".\n";
}

}  // namespace

std::string timeline_text(const analyzer::MemoryTimeline& timeline, analyzer::Places& places,
                          const TimelineWords& words, const Terminal& terminal) {
  const DeviceCurve* curve = timeline.curve();
  std::vector<uint32_t> numbers;
  for (const SiteChurn& row : timeline.sites) numbers.push_back(row.site);
  for (const Spike& spike : timeline.spikes) {
    for (const Spike::Part& part : spike.parts) numbers.push_back(part.site);
  }
  places.prefetch(numbers, true);
  const std::vector<SiteChurn> sites = by_place(timeline.sites, places);
  std::string text = head(timeline, curve, sites, places, words);
  if (curve == nullptr || curve->peak_bytes == 0) return text + coverage(timeline, words);
  text += plot(timeline, *curve, terminal);
  text += peak_table(sites, places, *curve, words, terminal);
  text += churn_table(timeline, sites, places, words, terminal);
  text += step_table(timeline, words, terminal);
  text += spike_table(timeline, places, terminal);
  text += lifetimes(timeline, terminal);
  for (const DeviceCurve& other : timeline.curves) {
    if (other.device == timeline.device || other.peak_bytes == 0) continue;
    text += fmt::format("\nOn {} at most {} were live.\n", other.device.text(), bytes(other.peak_bytes));
    text += reserved_plot(timeline, other);
  }
  return text + coverage(timeline, words);
}

}  // namespace tensorscope::text
