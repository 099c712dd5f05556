// SPDX-License-Identifier: Apache-2.0
// A recording over time in words, with a plot of characters.
#pragma once

#include <string>

#include "symbols/places.h"
#include "text/terminal.h"
#include "timeline/timeline.h"

namespace tensorscope::text {

struct TimelineWords {
  std::string file;
  size_t top = 10;  // rows of a table; 0: all
};

// `places`: of a dump of this recording, whose sites are the timeline's.
std::string timeline_text(const analyzer::MemoryTimeline& timeline, analyzer::Places& places,
                          const TimelineWords& words, const Terminal& terminal);

}  // namespace tensorscope::text
