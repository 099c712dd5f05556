#include "export/timeline_json.h"

#include "export/json_values.h"

namespace tensorscope::exports {

namespace {

constexpr int kTimelineSchema = 1;

Json curve_json(const analyzer::DeviceCurve& curve) {
  return {{"device", curve.device.text()}, {"peak_bytes", curve.peak_bytes}, {"peak_ns", curve.peak_ns},
          {"peak_step", curve.peak_step},  {"end_bytes", curve.end_bytes},   {"reserved_peak", curve.reserved_peak},
          {"highest", curve.highest}};
}

Json step_json(const analyzer::StepRow& step) {
  return {{"step", step.number},           {"begin_ns", step.begin_ns},
          {"end_ns", step.end_ns},         {"allocations", step.allocations},
          {"allocated_bytes", step.bytes}, {"live_at_begin", step.begin_live},
          {"live_at_end", step.end_live},  {"peak_bytes", step.peak}};
}

}  // namespace

std::string timeline_json(const analyzer::MemoryTimeline& timeline, analyzer::Places& places, const std::string& file) {
  Json curves = Json::array(), steps = Json::array(), sites = Json::array(), spikes = Json::array();
  for (const analyzer::DeviceCurve& curve : timeline.curves) curves.push_back(curve_json(curve));
  for (const analyzer::StepRow& step : timeline.steps) steps.push_back(step_json(step));
  for (const analyzer::SiteChurn& site : timeline.sites) {
    sites.push_back({{"place", place_json(places, site.site)},
                     {"allocations", site.allocations},
                     {"allocated_bytes", site.bytes},
                     {"temporary_bytes", site.short_lived},
                     {"live_at_peak", site.live_at_peak},
                     {"live_at_end", site.live_at_end}});
  }
  for (const analyzer::Spike& spike : timeline.spikes) {
    spikes.push_back({{"bytes", spike.bytes},
                      {"begin_ns", spike.begin_ns},
                      {"peak_ns", spike.peak_ns},
                      {"end_ns", spike.end_ns},
                      {"step", timeline.steps_seen ? Json(spike.step) : Json(nullptr)},
                      {"place", place_json(places, spike.site)}});
  }
  const Json all = {{"schema", kTimelineSchema},
                    {"file", file},
                    {"process_start_ns", timeline.start_ns},
                    {"begin_ns", timeline.begin_ns},
                    {"end_ns", timeline.end_ns},
                    {"events", timeline.events},
                    {"lost_events", timeline.lost},
                    {"ended", timeline.ended},
                    {"device", timeline.device.text()},
                    {"curves", std::move(curves)},
                    {"steps_seen", timeline.steps_seen},
                    {"steps", std::move(steps)},
                    {"sites", std::move(sites)},
                    {"lifetimes", {{"counts", timeline.lifetime_counts}, {"bytes", timeline.lifetime_bytes}}},
                    {"spikes", std::move(spikes)}};
  return all.dump(2) + "\n";
}

}  // namespace tensorscope::exports
