// SPDX-License-Identifier: Apache-2.0
// A recording is looked at, several times, for its timeline.
#pragma once

#include <functional>
#include <vector>

#include "recording/recording_file.h"
#include "timeline/memory_timeline.h"

namespace tensorscope::analyzer {

using AskTimeline = std::function<TimelineQuestions(const MemoryTimeline&)>;

// Looks at the file twice. `parts`: points of a curve. `ask` is called in between.
MemoryTimeline read_timeline(const RecordingFile& file, size_t parts, const AskTimeline& ask = {});

// Steps that allocate more than their neighbours or have a higher peak: by 10 % at the least of the median of the eight
// around them. Indices into `steps`.
std::vector<size_t> unusual_steps(const std::vector<StepRow>& steps);
// What is usual around a step: the medians of those eight.
StepRow usual_step(const std::vector<StepRow>& steps, size_t at);

}  // namespace tensorscope::analyzer
