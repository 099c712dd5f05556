// SPDX-License-Identifier: Apache-2.0
// Chrome's trace event format: a complete event (X) a call, where calls of a thread lie within each other or apart; a
// pair of asynchronous events (b, e) where they overlap, as backwards of branches do. Counters (C) are live bytes.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dump/type_names.h"
#include "export/json/calls.h"
#include "export/json/scalars.h"
#include "text/values/phrases.h"

namespace tensorscope::exports {

namespace {

using values::Call;
using values::CallSequence;

constexpr uint32_t kStepsTrack = 1 << 22;  // no thread of Linux has this number; Perfetto takes 0 for the main thread

class ChromeTrace {
 public:
  ChromeTrace(const CallSequence& sequence, const values::ValuesFile& file) : sequence_(sequence), file_(file) {
    for (const Call& call : sequence.calls()) origin_ = std::min(origin_, call.begin_ns);
  }

  std::string text() {
    metadata();
    steps();
    calls();
    counters();
    Json about = {{"program", file_.process().program},
                  {"torch", file_.process().torch_version},
                  {"began_unix_ns", sequence_.calls().empty() ? 0 : file_.unix_ns(origin_)}};
    std::string out = "{\"displayTimeUnit\":\"ms\",\"otherData\":" + text_of(about);
    return out + ",\n\"traceEvents\":[" + events_ + "]}\n";
  }

 private:
  void put(const Json& event) { events_ += (events_.empty() ? "\n" : ",\n") + text_of(event); }
  double microseconds(uint64_t ns) const { return double(ns - origin_) / 1000; }

  Json event(const char* phase, uint32_t thread, const std::string& name, uint64_t ns) const {
    return {{"ph", phase},
            {"pid", file_.process().pid},
            {"tid", thread},
            {"name", name.empty() ? "?" : name},
            {"ts", microseconds(ns)}};
  }

  void name(const char* what, uint32_t thread, const std::string& text) {
    put({{"ph", "M"}, {"pid", file_.process().pid}, {"tid", thread}, {"name", what}, {"args", {{"name", text}}}});
  }

  void metadata() {
    std::string process = file_.process().program.empty() ? file_.name() : file_.process().program;
    if (file_.process().rank >= 0) process += ", rank " + std::to_string(file_.process().rank);
    name("process_name", kStepsTrack, process);
    name("thread_name", kStepsTrack, "steps");
    std::set<uint32_t> threads;
    for (const Call& call : sequence_.calls()) threads.insert(call.thread);
    for (uint32_t thread : threads) {
      name("thread_name", thread, thread == file_.process().pid ? "main thread" : "thread " + std::to_string(thread));
    }
  }

  // One after the other: a step lasts from its first call to the next one's.
  void steps() {
    struct Step {
      std::string name;
      uint64_t begin, end;
    };
    std::vector<Step> steps;
    for (const Call& call : sequence_.calls()) {
      if (call.backward) {
        if (!steps.empty()) steps.back().end = std::max(steps.back().end, call.end_ns);
        continue;
      }
      const std::string words = text::step_words(call.mode, call.step, call.pass);
      if (steps.empty() || steps.back().name != words) {
        // Dropout in a model that is evaluated is a call of another mode, not a step.
        if (!steps.empty() && sequence_.parent(uint32_t(&call - sequence_.calls().data())) != CallSequence::kNoCall) {
          continue;
        }
        if (!steps.empty()) steps.back().end = std::min(steps.back().end, call.begin_ns);
        steps.push_back({words, call.begin_ns, call.end_ns});
      }
      steps.back().end = std::max(steps.back().end, call.end_ns);
    }
    for (const Step& step : steps) {
      Json row = event("X", kStepsTrack, step.name, step.begin);
      row["dur"] = double(step.end - step.begin) / 1000;
      row["cat"] = "step";
      put(row);
    }
  }

  Json arguments(const Call& call) const {
    Json args = {{"step", text::step_words(call.mode, call.step, call.pass)},
                 {"pass", call.pass},
                 {"index", call.index},
                 {"class", call.class_name},
                 {"called at", call.site},
                 {"live bytes before", call.live_before},
                 {"live bytes after", call.live_after},
                 {"peak bytes", call.peak},
                 {"saved bytes", call.saved}};
    if (call.raised) args["raised"] = true;
    if (call.unfinished) args["unfinished"] = true;
    return args;
  }

  void calls() {
    std::map<uint32_t, std::vector<const Call*>> threads;
    for (const Call& call : sequence_.calls()) threads[call.thread].push_back(&call);
    for (auto& [thread, calls] : threads) {
      std::stable_sort(calls.begin(), calls.end(), [](const Call* a, const Call* b) {
        return std::tuple(a->begin_ns, ~a->end_ns) < std::tuple(b->begin_ns, ~b->end_ns);
      });
      std::vector<uint64_t> open;  // where the calls around end
      for (const Call* call : calls) {
        while (!open.empty() && open.back() <= call->begin_ns) open.pop_back();
        const bool nests = open.empty() || call->end_ns <= open.back();
        if (nests) open.push_back(call->end_ns);
        add(*call, thread, nests);
      }
    }
  }

  void add(const Call& call, uint32_t thread, bool nests) {
    const std::string name = std::string(call.module) + (call.backward ? " backward" : "");
    Json row = event(nests ? "X" : "b", thread, name, call.begin_ns);
    row["cat"] = call.backward ? "backward" : "forward";
    row["args"] = arguments(call);
    if (nests) {
      row["dur"] = double(values::duration_ns(call)) / 1000;
      put(row);
      return;
    }
    row["id2"] = {{"local", std::to_string(call.id)}};  // a bare id is of all processes
    Json end = event("e", thread, name, call.end_ns);
    end["cat"] = row["cat"];
    end["id2"] = row["id2"];
    put(row);
    put(end);
  }

  void counters() {
    std::map<int, std::vector<std::pair<uint64_t, uint64_t>>> devices;
    for (const Call& call : sequence_.calls()) {
      if (call.live_before == 0 && call.live_after == 0) continue;
      devices[call.device_type].emplace_back(call.begin_ns, call.live_before);
      if (!call.unfinished) devices[call.device_type].emplace_back(call.end_ns, call.live_after);
    }
    for (auto& [device, points] : devices) {
      std::stable_sort(points.begin(), points.end(), [](auto& a, auto& b) { return a.first < b.first; });
      const std::string name = "live bytes" + (device < 0 ? "" : ", " + analyzer::device_type_name(device));
      for (const auto& [ns, bytes] : points) {
        Json row = event("C", kStepsTrack, name, ns);
        row["args"] = {{"bytes", bytes}};
        put(row);
      }
    }
  }

  const CallSequence& sequence_;
  const values::ValuesFile& file_;
  uint64_t origin_ = UINT64_MAX;
  std::string events_;
};

}  // namespace

std::string chrome_trace(const CallSequence& sequence, const values::ValuesFile& file) {
  return ChromeTrace(sequence, file).text();
}

}  // namespace tensorscope::exports
