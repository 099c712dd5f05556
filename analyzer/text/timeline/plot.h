// SPDX-License-Identifier: Apache-2.0
// Live bytes over time as characters.
#pragma once

#include <string>

#include "text/terminal.h"
#include "timeline/timeline.h"

namespace tensorscope::text {

// Live bytes over time, `height` lines high, as wide as the curve has points.
std::string curve_plot(const std::vector<uint64_t>& points, uint64_t top, size_t height);

// The same by category, a letter for each, with times and steps below and what the letters mean.
std::string category_plot(const analyzer::MemoryTimeline& timeline, const analyzer::DeviceCurve& curve, size_t height,
                          const Terminal& terminal);

}  // namespace tensorscope::text
