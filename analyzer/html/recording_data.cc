// SPDX-License-Identifier: Apache-2.0
#include "html/recording_data.h"

#include <algorithm>

#include "html/stacks.h"
#include "html/state_over_time.h"
#include "memory/no_module.h"
#include "text/dump/headline.h"
#include "text/text.h"
#include "text/timeline/report.h"

namespace tensorscope::html {

namespace {

using analyzer::MemoryTimeline;
using Column = std::vector<uint64_t>;

// The page grows with parts times sites, at most with events: where both are many, this many parts of the timeline are
// one.
size_t parts_together(const MemoryTimeline& timeline) {
  constexpr size_t kMaxStateChanges = 6'000'000;
  for (const size_t together : {1, 2, 4, 5, 8, 10, 16, 20, 25, 40}) {
    if (std::min(kPartsOfTimeline / together * 3 * timeline.sites.size(), 2 * timeline.events) <= kMaxStateChanges)
      return together;
  }
  return 50;
}

// Of parts that are one: the part in which the most was live stands for all.
template <typename Bytes, typename Value>
Column of_parts(const std::vector<Bytes>& parts, size_t together, Value value) {
  Column out;
  for (size_t i = 0; i + together <= parts.size(); i += together) {
    out.push_back(value(*std::max_element(parts.begin() + ptrdiff_t(i), parts.begin() + ptrdiff_t(i + together),
                                          [](const Bytes& a, const Bytes& b) { return a.bytes < b.bytes; })));
  }
  return out;
}

// Seconds after the start of the process.
class Clock {
 public:
  explicit Clock(uint64_t start_ns) : start_ns_(start_ns) {}
  double seconds(uint64_t ns) const { return ns < start_ns_ ? 0 : double(ns - start_ns_) / 1e9; }
  std::vector<double> seconds(const Column& times) const {
    std::vector<double> out;
    out.reserve(times.size());
    for (const uint64_t ns : times) out.push_back(seconds(ns));
    return out;
  }

 private:
  const uint64_t start_ns_;
};

Json steps_over_time(const MemoryTimeline& timeline, const Clock& clock, Payload& payload) {
  if (!timeline.steps_seen) return nullptr;
  Column number, begin, end, allocations, bytes, live, peak, unusual(timeline.steps.size());
  for (const analyzer::StepRow& step : timeline.steps) {
    number.push_back(step.number);
    begin.push_back(step.begin_ns);
    end.push_back(step.end_ns);
    allocations.push_back(step.allocations);
    bytes.push_back(step.bytes);
    live.push_back(step.end_live);
    peak.push_back(step.peak);
  }
  for (const size_t i : analyzer::unusual_steps(timeline.steps)) unusual[i] = 1;
  return {{"number", payload.column(number)},
          {"begin", payload.column(clock.seconds(begin))},
          {"end", payload.column(clock.seconds(end))},
          {"allocations", payload.column(allocations)},
          {"bytes", payload.column(bytes)},
          {"live", payload.column(live)},
          {"peak", payload.column(peak)},
          {"unusual", payload.column(unusual)}};
}

Json churn_by_site(const MemoryTimeline& timeline, Stacks& stacks, Payload& payload) {
  Column site, allocations, bytes, temporary, at_peak, at_end;
  for (const analyzer::SiteChurn& row : timeline.sites) {
    site.push_back(stacks.row(row.site));
    allocations.push_back(row.allocations);
    bytes.push_back(row.bytes);
    temporary.push_back(row.short_lived);
    at_peak.push_back(row.live_at_peak);
    at_end.push_back(row.live_at_end);
  }
  return {{"site", payload.column(site)},       {"allocations", payload.column(allocations)},
          {"bytes", payload.column(bytes)},     {"temporary", payload.column(temporary)},
          {"at_peak", payload.column(at_peak)}, {"at_end", payload.column(at_end)}};
}

Json categories_over_time(const analyzer::DeviceCurve& curve, size_t together, Payload& payload) {
  using analyzer::LiveBytes;
  Json names = Json::array(), bytes = Json::array();
  for (size_t i = 0; i < analyzer::kCategories; ++i) {
    const Column column = of_parts(curve.parts, together, [i](const LiveBytes& part) { return part.categories[i]; });
    if (std::all_of(column.begin(), column.end(), [](uint64_t b) { return b == 0; })) continue;
    names.push_back(analyzer::text(analyzer::Category(i)));
    bytes.push_back(payload.column(column));
  }
  const Column inferred = of_parts(curve.parts, together, [](const LiveBytes& part) { return part.inferred; });
  return {{"names", names}, {"bytes", bytes}, {"inferred", payload.column(inferred)}};
}

// What the device's allocator reserved, and how much of it was free; null: it said nothing.
Json reserved_over_time(const analyzer::DeviceCurve& curve, size_t together, const Clock& clock, Payload& payload) {
  if (curve.reserved_peak == 0) return nullptr;
  struct Part {
    uint64_t bytes, free;
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < std::min(curve.reserved.size(), curve.unused.size()); ++i) {
    parts.push_back({curve.reserved[i], curve.unused[i]});
  }
  Json moments = Json::array();
  for (const analyzer::FreeMemory& at : curve.free_memory) {
    moments.push_back({{"at", clock.seconds(at.ns)},
                       {"reserved", at.reserved},
                       {"segments", at.segments},
                       {"free", at.free},
                       {"largest", at.largest},
                       {"fragmentation", at.fragmentation()}});
  }
  return {{"bytes", payload.column(of_parts(parts, together, [](const Part& part) { return part.bytes; }))},
          {"free", payload.column(of_parts(parts, together, [](const Part& part) { return part.free; }))},
          {"peak", curve.reserved_peak},
          {"moments", moments}};
}

Json spike_list(const MemoryTimeline& timeline, const Clock& clock, Stacks& stacks) {
  Json rows = Json::array();
  for (const analyzer::Spike& spike : timeline.spikes) {
    Json parts = Json::array();
    for (const analyzer::Spike::Part& part : spike.parts) {
      parts.push_back({{"site", stacks.row(part.site)}, {"bytes", part.bytes}});
    }
    rows.push_back({{"bytes", spike.bytes},
                    {"begin", clock.seconds(spike.begin_ns)},
                    {"at", clock.seconds(spike.peak_ns)},
                    {"end", clock.seconds(spike.end_ns)},
                    {"step", timeline.steps_seen ? Json(spike.step) : Json(nullptr)},
                    {"site", stacks.row(spike.site)},
                    {"parts", parts}});
  }
  return rows;
}

Json device_over_time(const StateOverTime& state, const analyzer::DeviceCurve& curve, size_t together,
                      const Clock& clock, Stacks& stacks, Payload& payload) {
  const auto rows = [&](const Column& sites) {
    Column out;
    out.reserve(sites.size());
    for (const uint64_t site : sites) out.push_back(stacks.row(uint32_t(site)));
    return payload.column(out);
  };
  return {{"device", state.device.text()},
          {"peak_bytes", curve.peak_bytes},
          {"highest", payload.column(state.highest)},
          {"highest_at", payload.column(clock.seconds(state.highest_ns))},
          {"categories", categories_over_time(curve, together, payload)},
          {"reserved", reserved_over_time(curve, together, clock, payload)},
          {"changes",
           {{"end", payload.column(state.change_end)},
            {"site", rows(state.change_site)},
            {"bytes", payload.column(state.change_bytes)}}},
          {"made",
           {{"end", payload.column(state.made_end)},
            {"site", rows(state.made_site)},
            {"bytes", payload.column(state.made_bytes)},
            {"count", payload.column(state.made_count)}}}};
}

}  // namespace

Json recording_data(const analyzer::RecordingFile& file, const MemoryTimeline& timeline, analyzer::OpenedDump& opened,
                    Payload& payload) {
  const size_t together = parts_together(timeline), parts = kPartsOfTimeline / together;
  const std::vector<StateOverTime> states = state_over_time(file, timeline.begin_ns, timeline.end_ns, parts);
  std::vector<uint32_t> sites;
  for (const analyzer::SiteChurn& row : timeline.sites) sites.push_back(row.site);
  for (const StateOverTime& state : states) {
    for (const uint64_t site : state.change_site) sites.push_back(uint32_t(site));
  }
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  opened.places.prefetch(sites, true);

  const Clock clock(timeline.start_ns);
  const analyzer::Process& process = opened.dump.process;
  const std::string path = text::clean(opened.dump.path);
  Texts texts;
  Stacks stacks(opened, texts);
  Json problems = Json::array();
  for (const std::string& problem : timeline.problems) problems.push_back(text::clean(problem));
  Json out = {{"path", path},
              {"program", text::clean(text::program_name(process))},
              {"pid", process.pid},
              {"no_module", analyzer::no_module(opened.dump)},
              {"run_id", text::clean(process.run_id)},
              {"text", text::timeline_text(timeline, opened.places, {path, 10}, {})},
              {"begin", clock.seconds(timeline.begin_ns)},
              {"end", clock.seconds(timeline.end_ns)},
              {"parts", parts},
              {"events", timeline.events},
              {"lost", timeline.lost},
              {"ended", timeline.ended},
              {"problems", problems},
              {"device", timeline.device.text()},
              {"lifetimes", {{"counts", timeline.lifetime_counts}, {"bytes", timeline.lifetime_bytes}}}};
  out["steps"] = steps_over_time(timeline, clock, payload);
  out["churn"] = churn_by_site(timeline, stacks, payload);
  out["spikes"] = spike_list(timeline, clock, stacks);
  out["devices"] = Json::array();
  for (const StateOverTime& state : states) {
    const auto curve = std::find_if(timeline.curves.begin(), timeline.curves.end(),
                                    [&](const analyzer::DeviceCurve& each) { return each.device == state.device; });
    if (curve == timeline.curves.end() || curve->peak_bytes == 0) continue;
    out["devices"].push_back(device_over_time(state, *curve, together, clock, stacks, payload));
  }
  out["stacks"] = stacks.json(payload);
  out["texts"] = texts.take();
  return out;
}

}  // namespace tensorscope::html
