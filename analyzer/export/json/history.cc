// SPDX-License-Identifier: Apache-2.0
#include "export/json/history.h"

#include "dump_generated.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;
using analyzer::History;

const char* kind_text(analyzer::GrowthKind kind) {
  switch (kind) {
    case analyzer::GrowthKind::steady:
      return "steady";
    case analyzer::GrowthKind::grew:
      return "grew";
    case analyzer::GrowthKind::grew_first:
      return "grew_first";
    case analyzer::GrowthKind::unknown:
      break;
  }
  return "unknown";
}

Json point(const History& history, size_t i) {
  const analyzer::HistoryPoint& row = history.points[i];
  Json devices = Json::array();
  for (size_t device = 0; device < history.devices.size(); ++device) {
    const analyzer::HistoryLevel& level = history.level(i, device);
    devices.push_back({{"device", history.devices[device].text()},
                       {"live_bytes", level.live},
                       {"peak_bytes", level.peak},
                       {"total_bytes", level.allocated}});
  }
  return {{"time_ns", row.ns},
          {"kind", format::EnumNameMomentKind(format::MomentKind(row.kind))},
          {"step", row.source == 0 ? Json() : Json(row.step)},
          {"moments", row.moments},
          {"resident_bytes", number_or_null(row.resident)},
          {"devices", devices}};
}

Json history_json(const Dump& dump) {
  const History& history = dump.history;
  if (!history.present()) return nullptr;
  Json points = Json::array(), grown = Json::array();
  for (size_t i = 0; i < history.points.size(); ++i) points.push_back(point(history, i));
  for (size_t device = 0; device < history.devices.size(); ++device)
    grown.push_back(run_growth_json(history.devices[device], analyzer::run_growth(history, device)));

  return {
      {"every", history.every}, {"devices_left_out", history.devices_left_out}, {"growth", grown}, {"points", points}};
}

Json peak_json(const Dump& dump) {
  const analyzer::Peak& peak = dump.peak;
  if (!peak.present) return nullptr;
  Json devices = Json::array(), sites = Json::array();
  for (const analyzer::PeakDevice& row : peak.devices) {
    devices.push_back({{"device", row.device.text()}, {"live_bytes", row.bytes}});
  }
  for (const analyzer::PeakSite& row : peak.sites) {
    sites.push_back({{"site", number_or_null(row.site)},
                     {"bytes", row.bytes},
                     {"allocations", row.allocations},
                     {"freed_before_backward", row.gone.before_backward},
                     {"freed_in_backward", row.gone.in_backward},
                     {"freed_in_later_step", row.gone.later_step},
                     {"made_and_freed_in_backward", row.gone.of_backward},
                     {"made_in_backward_freed_later", row.gone.after_backward},
                     {"has_nodes", row.has_nodes}});
  }
  return {{"time_ns", peak.ns},
          {"step", peak.source == 0 ? Json() : Json(peak.step)},
          {"bytes", peak.bytes},
          {"devices", devices},
          {"sites", sites},
          {"other_sites", peak.other_sites},
          {"other_bytes", peak.other_bytes},
          {"other_allocations", peak.other_allocations}};
}

}  // namespace

Json run_growth_json(const analyzer::Device& device, const analyzer::RunGrowth& growth) {
  const bool known = growth.kind != analyzer::GrowthKind::unknown;
  return {{"device", device.text()},
          {"kind", kind_text(growth.kind)},
          {"unit", growth.by_step ? "step" : "second"},
          {"units", growth.units},
          {"bytes_each", known ? Json(growth.bytes_each) : Json()}};
}

void write_history_json(const Dump& dump, std::ostream& out) {
  out << ",\n\"history\":" << text_of(history_json(dump)) << ",\n\"peak\":" << text_of(peak_json(dump));
}

}  // namespace tensorscope::exports
