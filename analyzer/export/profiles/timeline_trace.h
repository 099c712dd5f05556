// SPDX-License-Identifier: Apache-2.0
// A recording's timeline in Chrome's trace event format, which Perfetto reads: live bytes of each device by category
// and what its allocator keeps, as counters; steps as slices.
#pragma once

#include <string>

#include "dump/dump.h"
#include "timeline/timeline.h"

namespace tensorscope::exports {

// `process`: whose recording it is.
std::string timeline_trace(const analyzer::MemoryTimeline& timeline, const analyzer::Process& process);

}  // namespace tensorscope::exports
