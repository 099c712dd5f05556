// SPDX-License-Identifier: Apache-2.0
#include "cli/timeline_plot.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/plot_file.h"
#include "export/pictures/timeline_charts.h"
#include "text/units.h"

namespace tensorscope::cli {

void add_timeline_plot(CLI::App& verb, TimelinePlotOptions& options) {
  verb.add_option(
          "--plot", options.output,
          "draw live bytes by category, steps and reserved memory into FILE: .svg, .html or .png (with Graphviz)")
      ->type_name("FILE");
  verb.add_flag("--force", options.force, "with --plot: replace the file if it exists");
}

int plot_timeline(const analyzer::MemoryTimeline& timeline, const std::string& file, const TimelinePlotOptions& options,
                  Invocation& invocation) {
  const exports::ChartSheet sheet = exports::timeline_charts(timeline, file.substr(file.rfind('/') + 1));
  if (sheet.charts.empty()) {
    invocation.say(fmt::format("nothing to draw: {} has no allocation.", file));
    return kBadInput;
  }
  const int status = write_charts(sheet, options.output, invocation);
  if (status == kOk) {
    invocation.out += fmt::format("{}: {}\n", options.output, text::counted(sheet.charts.size(), "chart"));
  }
  return status;
}

}  // namespace tensorscope::cli
