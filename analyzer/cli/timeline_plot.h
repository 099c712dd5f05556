// SPDX-License-Identifier: Apache-2.0
// timeline --plot: a recording over time as a picture.
#pragma once

#include <string>

#include "cli/invocation.h"
#include "timeline/timeline.h"

namespace tensorscope::cli {

struct TimelinePlotOptions {
  std::string output;  // "": no picture
  bool force = false;
};
void add_timeline_plot(CLI::App& verb, TimelinePlotOptions& options);

int plot_timeline(const analyzer::MemoryTimeline& timeline, const std::string& file, const TimelinePlotOptions& options,
                  Invocation& invocation);

}  // namespace tensorscope::cli
