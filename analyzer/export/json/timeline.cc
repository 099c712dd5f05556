// SPDX-License-Identifier: Apache-2.0
#include "export/json/timeline.h"

#include "export/json/scalars.h"

namespace tensorscope::exports {

namespace {

constexpr int kTimelineSchema = 1;

// Of what is anywhere more than zero.
Json by_category(const analyzer::LiveBytes& live) {
  Json out = Json::object();
  for (size_t i = 0; i < analyzer::kCategories; ++i) {
    if (live.categories[i] != 0) out[analyzer::text(analyzer::Category(i))] = live.categories[i];
  }
  return out;
}

Json categories_json(const std::vector<analyzer::LiveBytes>& parts) {
  Json out = Json::object();
  for (size_t i = 0; i < analyzer::kCategories; ++i) {
    Json points = Json::array();
    bool any = false;
    for (const analyzer::LiveBytes& part : parts) {
      points.push_back(part.categories[i]);
      any = any || part.categories[i] != 0;
    }
    if (any) out[analyzer::text(analyzer::Category(i))] = std::move(points);
  }
  return out;
}

Json free_json(const analyzer::FreeMemory& at) {
  return {{"ns", at.ns},
          {"segments", at.segments},
          {"reserved", at.reserved},
          {"free", at.free},
          {"largest_free", at.largest}};
}

Json curve_json(const analyzer::DeviceCurve& curve, bool categories) {
  Json free = Json::array();
  for (const analyzer::FreeMemory& at : curve.free_memory) free.push_back(free_json(at));
  return {{"free_memory", std::move(free)},
          {"free_at_peak", curve.free_memory.empty() ? Json(nullptr) : free_json(curve.free_at_peak)},
          {"categories", categories ? categories_json(curve.parts) : Json(nullptr)},
          {"peak_by_category", categories ? by_category(curve.at_peak) : Json(nullptr)},
          {"peak_inferred", categories ? Json(curve.at_peak.inferred) : Json(nullptr)},
          {"reserved", curve.reserved},
          {"reserved_free", curve.unused},
          {"reserved_at_peak", curve.reserved_at_peak},
          {"allocated_at_peak", curve.allocated_at_peak},
          {"device", curve.device.text()},
          {"peak_bytes", curve.peak_bytes},
          {"peak_ns", curve.peak_ns},
          {"peak_step", curve.peak_step},
          {"end_bytes", curve.end_bytes},
          {"reserved_peak", curve.reserved_peak},
          {"highest", curve.highest}};
}

Json step_json(const analyzer::StepRow& step, bool categories) {
  return {{"peak_by_category", categories ? by_category(step.at_peak) : Json(nullptr)},
          {"step", step.number},
          {"begin_ns", step.begin_ns},
          {"end_ns", step.end_ns},
          {"allocations", step.allocations},
          {"allocated_bytes", step.bytes},
          {"live_at_begin", step.begin_live},
          {"live_at_end", step.end_live},
          {"peak_bytes", step.peak}};
}

Json lines_json(const analyzer::MemoryTimeline& timeline, const analyzer::LinesOfSites& lines) {
  Json rows = Json::array();
  for (size_t i = 0; i < lines.lines.size(); ++i) {
    const analyzer::LineMemory& memory = timeline.lines[i];
    if (memory.peak == 0) continue;
    rows.push_back({{"file", lines.lines[i].file},
                    {"line", lines.lines[i].line},
                    {"function", lines.lines[i].function},
                    {"peak_bytes", memory.peak},
                    {"live_at_end", memory.live},
                    {"live_at_peak", memory.live_at_peak},
                    {"allocations", memory.allocations},
                    {"allocated_bytes", memory.bytes}});
  }
  return rows;
}

}  // namespace

std::string timeline_json(const analyzer::MemoryTimeline& timeline, analyzer::Places& places, const std::string& file,
                          const analyzer::LinesOfSites& lines) {
  Json curves = Json::array(), steps = Json::array(), sites = Json::array(), spikes = Json::array();
  for (const analyzer::DeviceCurve& curve : timeline.curves)
    curves.push_back(curve_json(curve, timeline.categories_known));
  for (const analyzer::StepRow& step : timeline.steps) steps.push_back(step_json(step, timeline.categories_known));
  for (const analyzer::SiteChurn& site : timeline.sites) {
    sites.push_back({{"place", place_json(places, site.site)},
                     {"allocations", site.allocations},
                     {"allocated_bytes", site.bytes},
                     {"temporary_bytes", site.short_lived},
                     {"live_at_peak", site.live_at_peak},
                     {"live_at_end", site.live_at_end}});
  }
  for (const analyzer::Spike& spike : timeline.spikes) {
    Json parts = Json::array();
    for (const auto& part : spike.parts)
      parts.push_back({{"place", place_json(places, part.site)}, {"bytes", part.bytes}});
    spikes.push_back({{"bytes", spike.bytes},
                      {"begin_ns", spike.begin_ns},
                      {"peak_ns", spike.peak_ns},
                      {"end_ns", spike.end_ns},
                      {"step", timeline.steps_seen ? Json(spike.step) : Json(nullptr)},
                      {"parts", std::move(parts)},
                      {"place", place_json(places, spike.site)}});
  }
  const Json all = {{"schema", kTimelineSchema},
                    {"file", file},
                    {"process_start_ns", timeline.start_ns},
                    {"begin_ns", timeline.begin_ns},
                    {"end_ns", timeline.end_ns},
                    {"events", timeline.events},
                    {"is_last_part", timeline.is_last_part},
                    {"lost_events", timeline.lost},
                    {"ended", timeline.ended},
                    {"cut_short", timeline.cut_short},
                    {"device", timeline.device.text()},
                    {"curves", std::move(curves)},
                    {"steps_seen", timeline.steps_seen},
                    {"steps", std::move(steps)},
                    {"sites", std::move(sites)},
                    {"lifetimes", {{"counts", timeline.lifetime_counts}, {"bytes", timeline.lifetime_bytes}}},
                    {"spikes", std::move(spikes)},
                    {"lines", lines_json(timeline, lines)},
                    {"not_read", not_read_json(places.unread().files())}};
  return all.dump(2) + "\n";
}

}  // namespace tensorscope::exports
