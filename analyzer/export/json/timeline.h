// SPDX-License-Identifier: Apache-2.0
// A recording over time as JSON (docs/cli/timeline.md).
#pragma once

#include <string>

#include "symbols/places.h"
#include "timeline/source_memory.h"
#include "timeline/timeline.h"

namespace tensorscope::exports {

// `lines`: those of --lines.
std::string timeline_json(const analyzer::MemoryTimeline& timeline, analyzer::Places& places, const std::string& file,
                          const analyzer::LinesOfSites& lines = {});

}  // namespace tensorscope::exports
