// timeline: a recording over time: the peak, steps, what allocates, spikes.
#include "timeline/timeline.h"

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "export/timeline_json.h"
#include "recording/moment.h"
#include "text/timeline_text.h"

namespace tensorscope::cli {

namespace {

struct TimelineOptions {
  std::string file;
  bool json = false;
  size_t top = 10;
  analyzer::SymbolOptions symbols;
};

constexpr size_t kPartsOfJson = 1000;
constexpr int kPlotMargin = 14;  // of the plot's labels
constexpr int kPlotColumns = 100;

int timeline(const TimelineOptions& options, Invocation& invocation) {
  const analyzer::RecordingFile file(options.file);
  const int width = invocation.terminal.width > 0 ? invocation.terminal.width : kPlotColumns + kPlotMargin;
  const size_t parts = options.json ? kPartsOfJson : size_t(std::clamp(width - kPlotMargin, 20, kPlotColumns));
  const analyzer::MemoryTimeline found = analyzer::read_timeline(file, parts);
  const analyzer::DeviceCurve* curve = found.curve();
  const analyzer::Moment peak = curve && curve->peak_bytes != 0 ? analyzer::Moment{curve->peak_events, curve->peak_ns}
                                                                : analyzer::Moment{found.events, found.end_ns};
  analyzer::OpenedDump opened(analyzer::dump_at(file, options.file, peak), options.symbols);
  invocation.out += options.json
                        ? exports::timeline_json(found, opened.places, options.file)
                        : text::timeline_text(found, opened.places, {options.file, options.top}, invocation.terminal);
  for (const std::string& problem : found.problems) invocation.say(problem);
  return found.problems.empty() ? kOk : kBadInput;
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
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope run --record -- python train.py\n"
      "  tensorscope timeline train.4242.recording\n"
      "  tensorscope report train.4242.recording@peak     that moment, as a dump\n"
      "  tensorscope diff train.4242.recording@step=10 train.4242.recording@step=20");
}

}  // namespace tensorscope::cli
