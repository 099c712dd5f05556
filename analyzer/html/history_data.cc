// SPDX-License-Identifier: Apache-2.0
#include "html/history_data.h"

#include <algorithm>
#include <vector>

#include "memory/run_growth.h"
#include "text/dump/history.h"
#include "text/text.h"

namespace tensorscope::html {

namespace {

using analyzer::History;

constexpr size_t kMinPoints = 4;
constexpr uint64_t kSmallPart = 100;  // a device that never had this part of the largest has no curve

Json device_data(const History& history, size_t device, Payload& payload) {
  std::vector<uint64_t> live, peak;
  for (size_t i = 0; i < history.points.size(); ++i) {
    live.push_back(history.level(i, device).live);
    peak.push_back(history.level(i, device).peak);
  }
  return {{"device", history.devices[device].text()},
          {"live", payload.column(live)},
          {"peak", payload.column(peak)},
          {"most", analyzer::peak_of(history, device)}};
}

Json devices_data(const History& history, Payload& payload) {
  uint64_t most = 0;
  for (size_t i = 0; i < history.devices.size(); ++i) most = std::max(most, analyzer::peak_of(history, i));
  Json devices = Json::array();
  for (size_t i = 0; i < history.devices.size(); ++i) {
    const uint64_t peak = analyzer::peak_of(history, i);
    if (peak > 0 && peak >= most / kSmallPart) devices.push_back(device_data(history, i, payload));
  }
  return devices;
}

}  // namespace

Json history_data(const analyzer::Dump& dump, Payload& payload) {
  const History& history = dump.history;
  if (history.points.size() < kMinPoints) return nullptr;
  std::vector<double> time;
  std::vector<uint64_t> step;
  for (const analyzer::HistoryPoint& point : history.points) {
    time.push_back(double(point.ns - std::min(point.ns, dump.process.start_ns)) / 1e9);
    step.push_back(point.kind == analyzer::MomentKind::step ? point.step : 0);
  }
  return {{"text", text::clean(text::growth_sentence(dump))},
          {"time", payload.column(time)},
          {"step", payload.column(step)},
          {"devices", devices_data(history, payload)}};
}

}  // namespace tensorscope::html
