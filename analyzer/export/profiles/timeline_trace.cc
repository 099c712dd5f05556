// SPDX-License-Identifier: Apache-2.0
#include "export/profiles/timeline_trace.h"

#include <algorithm>

#include "export/json/scalars.h"

namespace tensorscope::exports {

namespace {

class TimelineTrace {
 public:
  TimelineTrace(const analyzer::MemoryTimeline& timeline, const analyzer::Process& process)
      : timeline_(timeline), process_(process) {}

  std::string text() {
    put({{"ph", "M"}, {"pid", process_.pid}, {"name", "process_name"}, {"args", {{"name", process_.program}}}});
    put({{"ph", "M"},
         {"pid", process_.pid},
         {"tid", process_.pid},
         {"name", "thread_name"},
         {"args", {{"name", "steps"}}}});
    for (const analyzer::StepRow& step : timeline_.steps) {
      put({{"ph", "X"},
           {"pid", process_.pid},
           {"tid", process_.pid},
           {"name", "step " + std::to_string(step.number)},
           {"ts", microseconds(step.begin_ns)},
           {"dur", double(step.end_ns - step.begin_ns) / 1000},
           {"args", {{"allocations", step.allocations}, {"allocated bytes", step.bytes}, {"peak bytes", step.peak}}}});
    }
    for (const analyzer::DeviceCurve& curve : timeline_.curves) counters(curve);
    const Json about = {{"program", process_.program}, {"torch", process_.torch_version}};
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + text_of(about) + ",\n\"traceEvents\":[" + events_ + "]}\n";
  }

 private:
  void put(const Json& event) { events_ += (events_.empty() ? "\n" : ",\n") + text_of(event); }
  double microseconds(uint64_t ns) const {
    return ns < timeline_.begin_ns ? 0 : double(ns - timeline_.begin_ns) / 1000;
  }

  // One track a category: Perfetto shows one value of a counter at a time.
  void counters(const analyzer::DeviceCurve& curve) {
    const std::string device = curve.device.text();
    const double part =
        double(timeline_.end_ns - timeline_.begin_ns) / 1000 / double(std::max<size_t>(curve.parts.size(), 1));
    for (size_t i = 0; i < curve.parts.size(); ++i) {
      const double at = part * double(i);
      counter(device + " live", at, curve.parts[i].bytes);
      if (i < curve.reserved.size() && curve.reserved_peak > 0) counter(device + " reserved", at, curve.reserved[i]);
      for (size_t category = 0; timeline_.categories_known && category < analyzer::kCategories; ++category) {
        if (curve.at_peak.categories[category] == 0 && curve.parts[i].categories[category] == 0) continue;
        counter(device + " " + analyzer::text(analyzer::Category(category)), at, curve.parts[i].categories[category]);
      }
    }
  }
  void counter(const std::string& name, double at, uint64_t bytes) {
    put({{"ph", "C"}, {"pid", process_.pid}, {"name", name}, {"ts", at}, {"args", {{"bytes", bytes}}}});
  }

  const analyzer::MemoryTimeline& timeline_;
  const analyzer::Process& process_;
  std::string events_;
};

}  // namespace

std::string timeline_trace(const analyzer::MemoryTimeline& timeline, const analyzer::Process& process) {
  return TimelineTrace(timeline, process).text();
}

}  // namespace tensorscope::exports
