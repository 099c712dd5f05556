// SPDX-License-Identifier: Apache-2.0
#include "export/pictures/timeline_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/units.h"

namespace tensorscope::exports {

namespace {

using analyzer::Category;
using analyzer::DeviceCurve;
using analyzer::LiveBytes;
using analyzer::MemoryTimeline;

constexpr double kWidth = 960, kHeight = 300;

// Points of a curve over the recording's time, in seconds after the start of the program.
class OverTime {
 public:
  explicit OverTime(const MemoryTimeline& timeline) : timeline_(timeline) {}

  template <typename Value>
  Chart::Curve curve(std::string label, size_t parts, Value value) const {
    Chart::Curve curve{std::move(label), {}};
    for (size_t i = 0; i < parts; ++i) curve.points.push_back({seconds(i, parts), double(value(i))});
    return curve;
  }

 private:
  double seconds(size_t part, size_t parts) const {
    const double length = double(timeline_.end_ns - timeline_.begin_ns);
    const double begin = double(timeline_.begin_ns - std::min(timeline_.begin_ns, timeline_.start_ns));
    return (begin + length * (double(part) + 0.5) / double(parts)) / 1e9;
  }

  const MemoryTimeline& timeline_;
};

Chart live_chart(const MemoryTimeline& timeline, const DeviceCurve& curve) {
  Chart chart;
  chart.title = fmt::format("live bytes on {}: peak {}", curve.device.text(), text::bytes(curve.peak_bytes));
  if (timeline.steps_seen) chart.title += fmt::format(" in step {}", curve.peak_step);
  chart.x_label = "seconds after start";
  chart.bytes = true;
  const OverTime time(timeline);
  if (!timeline.categories_known) {
    chart.curves.push_back(
        time.curve("live", curve.highest.size(), [&](size_t i) { return double(curve.highest[i]); }));
    return chart;
  }
  chart.stacked = true;
  for (size_t i = 1; i <= analyzer::kCategories; ++i) {
    const size_t category = i % analyzer::kCategories;  // what is not known comes last
    const auto of = [&](size_t part) { return double(curve.parts[part].categories[category]); };
    bool any = false;
    for (const LiveBytes& part : curve.parts) any = any || part.categories[category] != 0;
    if (any) chart.curves.push_back(time.curve(analyzer::text(Category(category)), curve.parts.size(), of));
  }
  return chart;
}

Chart reserved_chart(const MemoryTimeline& timeline, const DeviceCurve& curve) {
  Chart chart;
  chart.title = fmt::format("reserved by the allocator of {}", curve.device.text());
  chart.x_label = "seconds after start";
  chart.bytes = true;
  const OverTime time(timeline);
  const size_t parts = curve.reserved.size();
  chart.curves.push_back(time.curve("reserved", parts, [&](size_t i) { return double(curve.reserved[i]); }));
  chart.curves.push_back(time.curve("reserved but free", parts, [&](size_t i) { return double(curve.unused[i]); }));
  chart.curves.push_back(time.curve("live", parts, [&](size_t i) { return double(curve.highest[i]); }));
  Chart::Curve largest{"largest free block", {}};
  for (const analyzer::FreeMemory& at : curve.free_memory) {
    largest.points.push_back({double(at.ns - std::min(at.ns, timeline.start_ns)) / 1e9, double(at.largest)});
  }
  if (!largest.points.empty()) chart.curves.push_back(std::move(largest));
  return chart;
}

Chart step_chart(const MemoryTimeline& timeline) {
  Chart chart;
  chart.title = fmt::format("steps on {}", timeline.device.text());
  chart.x_label = "step";
  chart.bytes = true;
  Chart::Curve peak{"peak", {}}, end{"live at its end", {}}, made{"allocated", {}};
  for (const analyzer::StepRow& step : timeline.steps) {
    peak.points.push_back({double(step.number), double(step.peak)});
    end.points.push_back({double(step.number), double(step.end_live)});
    made.points.push_back({double(step.number), double(step.bytes)});
  }
  chart.curves = {std::move(peak), std::move(end), std::move(made)};
  return chart;
}

}  // namespace

ChartSheet timeline_charts(const MemoryTimeline& timeline, const std::string& title) {
  ChartSheet sheet{title, {}, kWidth, kHeight, 1};
  for (const DeviceCurve& curve : timeline.curves) {
    if (curve.peak_bytes == 0) continue;
    sheet.charts.push_back(live_chart(timeline, curve));
    if (!curve.reserved.empty()) sheet.charts.push_back(reserved_chart(timeline, curve));
  }
  if (timeline.steps.size() > 1) sheet.charts.push_back(step_chart(timeline));
  return sheet;
}

}  // namespace tensorscope::exports
