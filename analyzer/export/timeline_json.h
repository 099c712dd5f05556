// A recording over time as JSON (docs/cli/timeline.md).
#pragma once

#include <string>

#include "symbols/places.h"
#include "timeline/timeline.h"

namespace tensorscope::exports {

std::string timeline_json(const analyzer::MemoryTimeline& timeline, analyzer::Places& places, const std::string& file);

}  // namespace tensorscope::exports
