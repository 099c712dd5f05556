#include "html/recording_data.h"

#include <algorithm>

#include "html/stacks.h"
#include "html/state_over_time.h"
#include "text/headline.h"
#include "text/text.h"
#include "text/timeline_text.h"

namespace tensorscope::html {

namespace {

using analyzer::MemoryTimeline;
using Column = std::vector<uint64_t>;

// More moments where there are few sites: the page grows with their product.
constexpr size_t kMostParts = 2000, kFewestParts = 100;
constexpr size_t kMostStateChanges = 6'000'000;

size_t parts_for(size_t sites) {
  return std::clamp(kMostStateChanges / (3 * std::max<size_t>(1, sites)), kFewestParts, kMostParts);
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

Json spike_list(const MemoryTimeline& timeline, const Clock& clock, Stacks& stacks) {
  Json rows = Json::array();
  for (const analyzer::Spike& spike : timeline.spikes) {
    rows.push_back({{"bytes", spike.bytes},
                    {"begin", clock.seconds(spike.begin_ns)},
                    {"at", clock.seconds(spike.peak_ns)},
                    {"end", clock.seconds(spike.end_ns)},
                    {"step", timeline.steps_seen ? Json(spike.step) : Json(nullptr)},
                    {"site", stacks.row(spike.site)}});
  }
  return rows;
}

Json device_over_time(const StateOverTime& state, const analyzer::DeviceCurve* curve, const Clock& clock,
                      Stacks& stacks, Payload& payload) {
  const auto rows = [&](const Column& sites) {
    Column out;
    out.reserve(sites.size());
    for (const uint64_t site : sites) out.push_back(stacks.row(uint32_t(site)));
    return payload.column(out);
  };
  const bool reserves = std::any_of(state.reserved.begin(), state.reserved.end(), [](uint64_t b) { return b != 0; });
  return {{"device", state.device.text()},
          {"peak_bytes", curve ? curve->peak_bytes : 0},
          {"peak", clock.seconds(curve ? curve->peak_ns : 0)},
          {"peak_step", curve ? curve->peak_step : 0},
          {"end_bytes", curve ? curve->end_bytes : 0},
          {"reserved_peak", curve ? curve->reserved_peak : 0},
          {"highest", payload.column(state.highest)},
          {"highest_at", payload.column(clock.seconds(state.highest_ns))},
          {"reserved", reserves ? payload.column(state.reserved) : Json(nullptr)},
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
  const size_t parts = parts_for(timeline.sites.size());
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
    out["devices"].push_back(
        device_over_time(state, curve == timeline.curves.end() ? nullptr : &*curve, clock, stacks, payload));
  }
  out["stacks"] = stacks.json(payload);
  out["texts"] = texts.all();
  return out;
}

}  // namespace tensorscope::html
