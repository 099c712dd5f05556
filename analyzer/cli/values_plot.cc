// SPDX-License-Identifier: Apache-2.0
#include "cli/values_plot.h"

#include <fmt/format.h>

#include "cli/plot_file.h"
#include "text/units.h"

namespace tensorscope::cli {

int plot_values(const text::ValuesFiles& files, const values::ValueFilter& filter,
                const std::vector<values::Stat>& stats, const ValuesPlotOptions& options, Invocation& invocation) {
  if (!may_plot(options.output, options.force, invocation)) return kBadInput;
  std::vector<values::NameSeries> series = values::name_series(files, filter, stats);
  if (series.empty()) {
    invocation.say("nothing to draw: no value with statistics fits --name, --step, --mode and --index.");
    return kBadInput;
  }
  const size_t all = series.size();
  if (options.top != 0 && series.size() > options.top) series.resize(options.top);
  std::string title;
  for (const auto& file : files) title += (title.empty() ? "" : ", ") + file->name();
  const int status = write_charts(exports::chart_sheet(files, series, title), options.output, invocation);
  if (status != kOk) return status;
  invocation.out += fmt::format("{}: {}", options.output, text::counted(series.size(), "chart"));
  if (all > series.size()) invocation.out += fmt::format(" of {}; --top N", text::count(all));
  invocation.out += "\n";
  return kOk;
}

}  // namespace tensorscope::cli
