// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>

#include "timeline/details.h"
#include "timeline/overview.h"

namespace tensorscope::analyzer {

namespace {

template <typename Value>
uint64_t median_around(const std::vector<StepRow>& steps, size_t at, Value value) {
  constexpr size_t kSide = 4;
  std::vector<uint64_t> around;
  for (size_t i = at - std::min(at, kSide); i < std::min(steps.size(), at + kSide + 1); ++i) {
    if (i != at) around.push_back(value(steps[i]));
  }
  if (around.empty()) return value(steps[at]);
  std::nth_element(around.begin(), around.begin() + ptrdiff_t(around.size() / 2), around.end());
  return around[around.size() / 2];
}

}  // namespace

MemoryTimeline read_timeline(const RecordingFile& file, size_t parts, const AskTimeline& ask) {
  MemoryTimeline out;
  TimelineOverview overview(out);
  RecordingEnds ends = file.replay(overview);
  overview.finish();
  out.end_ns = std::max(ends.end_ns, out.begin_ns);
  out.events = ends.events;
  out.late = ends.late;
  out.ended = ends.ended;
  out.cut_short = ends.cut_short;
  out.problems = std::move(ends.problems);
  const TimelineQuestions questions = ask ? ask(out) : TimelineQuestions{};
  TimelineDetails details(out, std::max<size_t>(1, parts), questions, overview.lives());
  file.replay(details);
  details.finish(out.end_ns);
  if (!out.spikes.empty()) {
    SpikeContents contents(out.spikes, out.device);
    file.replay(contents);
  }
  return out;
}

StepRow usual_step(const std::vector<StepRow>& steps, size_t at) {
  StepRow usual;
  usual.number = steps[at].number;
  usual.bytes = median_around(steps, at, [](const StepRow& step) { return step.bytes; });
  usual.peak = median_around(steps, at, [](const StepRow& step) { return step.peak; });
  usual.allocations = median_around(steps, at, [](const StepRow& step) { return step.allocations; });
  return usual;
}

std::vector<size_t> unusual_steps(const std::vector<StepRow>& steps) {
  const auto more = [](uint64_t value, uint64_t usual) { return value > usual && value - usual >= usual / 10 + 1; };
  std::vector<size_t> found;
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepRow usual = usual_step(steps, i);
    if (more(steps[i].bytes, usual.bytes) || more(steps[i].peak, usual.peak)) found.push_back(i);
  }
  return found;
}

}  // namespace tensorscope::analyzer
