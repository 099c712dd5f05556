// SPDX-License-Identifier: Apache-2.0
// timeline: a recording over time: the peak, steps, what allocates, spikes.
#include "timeline/timeline.h"

#include "cli/dump_options.h"
#include "cli/plot_file.h"
#include "cli/replaced_file.h"
#include "cli/timeline_plot.h"
#include "cli/verb.h"
#include "export/json/timeline.h"
#include "export/profiles/timeline_trace.h"
#include "recording/moment.h"
#include "text/dump/line_memory.h"
#include "text/timeline/report.h"
#include "timeline/source_memory.h"

namespace tensorscope::cli {

namespace {

struct TimelineOptions {
  std::string file;
  bool json = false;
  std::string trace;
  std::optional<std::string> lines;  // "": the program's own files
  size_t top = 10;
  TimelinePlotOptions plot;
  analyzer::SymbolOptions symbols;
};

constexpr size_t kPartsOfJson = 1000, kPartsOfPlot = 500;
constexpr int kPlotMargin = 14;  // of the plot's labels
constexpr int kPlotColumns = 100;

size_t parts_of(const TimelineOptions& options, const text::Terminal& terminal) {
  if (!options.plot.output.empty()) return kPartsOfPlot;
  if (options.json || !options.trace.empty()) return kPartsOfJson;
  const int width = terminal.width > 0 ? terminal.width : kPlotColumns + kPlotMargin;
  return size_t(std::clamp(width - kPlotMargin, 20, kPlotColumns));
}

// The recording's stacks, names and categories as of its peak.
struct AtPeak {
  std::unique_ptr<analyzer::OpenedDump> opened;
  std::unique_ptr<analyzer::MemoryCategories> categories;
  analyzer::LinesOfSites lines;
};

int timeline(const TimelineOptions& options, Invocation& invocation) {
  if (!options.plot.output.empty() && !may_plot(options.plot.output, options.plot.force, invocation)) return kBadInput;
  const analyzer::RecordingFile file(options.file);
  AtPeak peak;
  const auto ask = [&](const analyzer::MemoryTimeline& found) {
    peak.opened =
        std::make_unique<analyzer::OpenedDump>(analyzer::dump_at(file, options.file, found.peak()), options.symbols);
    peak.categories = std::make_unique<analyzer::MemoryCategories>(peak.opened->dump, peak.opened->names_of_run.get());
    if (options.lines) peak.lines = analyzer::lines_of_sites(peak.opened->dump, *options.lines);
    return analyzer::TimelineQuestions{peak.categories.get(), peak.lines.of_site, peak.lines.lines.size()};
  };
  const analyzer::MemoryTimeline found = analyzer::read_timeline(file, parts_of(options, invocation.terminal), ask);
  int status = kOk;
  if (!options.plot.output.empty()) {
    status = plot_timeline(found, options.file, options.plot, invocation);
  } else if (!options.trace.empty()) {
    const std::string trace = exports::timeline_trace(found, peak.opened->dump.process);
    if (!write_file(options.trace, trace, options.plot.force, invocation)) status = kBadInput;
  } else if (options.json) {
    invocation.out += exports::timeline_json(found, peak.opened->places, options.file, peak.lines);
  } else if (options.lines) {
    invocation.out += text::line_memory_text(found, peak.lines, *peak.opened, invocation.terminal);
  } else {
    invocation.out += text::timeline_text(found, peak.opened->places, {options.file, options.top}, invocation.terminal);
  }
  report_unread(invocation, peak.opened->places.unread().files());
  for (const std::string& problem : found.problems) invocation.say(problem);
  return found.problems.empty() ? status : kBadInput;
}

}  // namespace

void add_timeline(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "timeline", "a recording over time: peak, steps, what allocates, spikes", timeline);
  verb->add_option("FILE", options->file, "a recording, written with tensorscope run --record")
      ->required()
      ->type_name("");
  add_top(*verb, options->top);
  verb->add_flag("--json", options->json, "output JSON (docs/cli/timeline.md)");
  verb->add_option("--trace", options->trace,
                   "write a trace for Perfetto: live bytes by category as counters, steps as slices")
      ->type_name("FILE");
  verb->add_option("--lines", options->lines,
                   "memory by source line: peak and still held, beside the source; of FILE, "
                   "or of the program's own files")
      ->type_name("FILE")
      ->expected(0, 1)
      ->default_str("");
  add_timeline_plot(*verb, options->plot);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope run --record -- python train.py\n"
      "  tensorscope timeline train.4242.recording\n"
      "  tensorscope timeline train.4242.recording --lines model.py\n"
      "  tensorscope timeline train.4242.recording --plot memory.svg\n"
      "  tensorscope timeline train.4242.recording --trace memory.trace.json\n"
      "  tensorscope report train.4242.recording@peak     that moment, as a dump\n"
      "  tensorscope diff train.4242.recording@step=10 train.4242.recording@step=20");
}

}  // namespace tensorscope::cli
