// SPDX-License-Identifier: Apache-2.0
// A recording over time as charts: live bytes by category, steps, what a device's allocator has reserved.
#pragma once

#include <string>

#include "export/pictures/plot.h"
#include "timeline/timeline.h"

namespace tensorscope::exports {

ChartSheet timeline_charts(const analyzer::MemoryTimeline& timeline, const std::string& title);

}  // namespace tensorscope::exports
