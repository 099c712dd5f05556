#include "cli/values_plot.h"

#include <fmt/format.h>

#include "cli/graphviz.h"
#include "cli/replaced_file.h"
#include "export/plot.h"
#include "text/units.h"

namespace tensorscope::cli {

int plot_values(const text::ValuesFiles& files, const values::ValueFilter& filter,
                const std::vector<values::Stat>& stats, const ValuesPlotOptions& options, Invocation& invocation) {
  const std::string& output = options.output;
  const bool png = output.ends_with(".png"), html = output.ends_with(".html");
  if (!png && !html && !output.ends_with(".svg")) {
    invocation.say("--plot writes .svg, .html or .png (with Graphviz).");
    return kBadInput;
  }
  if (!may_write(output, options.force, invocation)) return kBadInput;
  std::vector<values::NameSeries> series = values::name_series(files, filter, stats);
  if (series.empty()) {
    invocation.say("nothing to draw: no value with statistics fits --name, --step, --mode and --index.");
    return kBadInput;
  }
  const size_t all = series.size();
  if (options.top != 0 && series.size() > options.top) series.resize(options.top);
  std::string title;
  for (const auto& file : files) title += (title.empty() ? "" : ", ") + file->name();
  const exports::ChartSheet sheet = exports::chart_sheet(files, series, title);
  std::string picture;
  if (png) {
    const std::string problem = draw_with_graphviz(exports::charts_dot(sheet), "png", picture);
    if (!problem.empty()) {
      invocation.say(problem);
      return kBadInput;
    }
  } else {
    picture = html ? exports::charts_html(sheet) : exports::charts_svg(sheet);
  }
  if (!write_file(output, picture, true, invocation)) return kBadInput;
  invocation.out += fmt::format("{}: {}", output, text::counted(series.size(), "chart"));
  if (all > series.size()) invocation.out += fmt::format(" of {}; --top N", text::count(all));
  invocation.out += "\n";
  return kOk;
}

}  // namespace tensorscope::cli
