// SPDX-License-Identifier: Apache-2.0
// html: dumps, recordings and values files as one page for a browser; a file appears whole or not at all.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/child_dumps.h"
#include "cli/dump_options.h"
#include "cli/replaced_file.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "dump_generated.h"
#include "html/page.h"
#include "html/question_data.h"
#include "html/recording_data.h"
#include "html/values_data.h"
#include "memory/taken_names.h"
#include "oom/earlier_names.h"
#include "recording/moment.h"
#include "tensorscope/values_format.h"
#include "timeline/timeline.h"
#include "values/name_rows.h"

namespace tensorscope::cli {

namespace {

struct HtmlOptions {
  std::vector<std::string> files;
  std::string output;
  bool force = false, confidential = false;
  analyzer::SymbolOptions symbols;
};

int write_page(const html::Page& page, const std::string& path, Invocation& invocation) {
  ReplacedFile file(path);
  int error = file.error();
  if (error == 0) {
    page.write(file.stream());
    error = file.finish();
  }
  if (error == 0) return kOk;
  invocation.say(fmt::format("cannot write {}: {}.", path, strerror(error)));
  return kBadInput;
}

bool is_values_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char magic[sizeof format::kValuesMagic] = {};
  in.read(magic, sizeof magic);
  return std::memcmp(magic, format::kValuesMagic, sizeof magic) == 0;
}

analyzer::Dump read(const std::string& path, html::Page& page) {
  analyzer::Dump dump = analyzer::read_dump_or_moment(path);
  page.prepare(dump);
  return dump;
}

// The dump of an out-of-memory error, with names of an earlier dump beside it where it has none.
void add_failure(const std::string& path, const analyzer::SymbolOptions& symbols, html::Page& page) {
  std::vector<analyzer::Dump> failed;
  failed.push_back(analyzer::read_dump_or_moment(path));
  if (analyzer::oom::lacks_names(failed.back())) {
    const std::optional<analyzer::Dump> earlier = analyzer::oom::earlier_with_names(failed.back());
    if (earlier) analyzer::take_names(failed.back(), *earlier);
  }
  page.prepare(failed.back());
  analyzer::ComparedDumps dumps(std::move(failed), {}, symbols);
  page.set_part("oom", html::oom_data(dumps, page.payload()));
  page.add_unread(dumps.unread());
}

// What leaks needs of a recording: of which process it is, and its steps that have ended.
struct Recorded {
  std::string path;
  analyzer::Process process;
  std::vector<analyzer::StepRow> steps;
};

// Without moments.
size_t count_of_dumps(const analyzer::ComparedDumps& dumps) {
  size_t count = 0;
  for (size_t i = 0; i < dumps.size(); ++i) count += !dumps[i].dump.moment;
  return count;
}

// Growth needs two dumps that know who holds what: where fewer can be compared, moments of the recording at the ends of
// steps join the last one, or stand alone.
// `add_findings`: of child processes. Returns whether a dump at exit was left out, after everything had been freed.
bool add_leaks(analyzer::ComparedDumps& dumps, const std::vector<Recorded>& recordings,
               const analyzer::SymbolOptions& symbols, html::Page& page,
               const std::function<void(analyzer::Leaks&)>& add_findings) {
  constexpr size_t kEnough = 2, kMinSteps = 6;
  html::Json leaks = html::leaks_data(dumps, add_findings);
  const auto same_process = [&](const Recorded& recorded) {
    const analyzer::Process& process = dumps.last().dump.process;
    return recorded.process.run_id == process.run_id && recorded.process.pid == process.pid;
  };
  if (!leaks.is_null() && count_of_dumps(dumps) < kEnough && recordings.size() == 1 && same_process(recordings[0])) {
    const Recorded& recorded = recordings[0];
    const analyzer::Dump& last = dumps.last().dump;
    const bool joins =
        !last.moment && format::Trigger(last.process.trigger) != format::Trigger::exit && analyzer::has_names(last);
    const auto end = std::find_if(recorded.steps.begin(), recorded.steps.end(), [&](const analyzer::StepRow& step) {
      return joins && step.end_ns > last.process.dump_ns;
    });
    const auto steps = size_t(end - recorded.steps.begin());
    if (steps >= kMinSteps) {
      std::vector<size_t> chosen = {steps / 3, steps * 2 / 3};
      if (!joins) chosen.push_back(steps - 1);
      std::vector<analyzer::Dump> all;
      for (const size_t step : chosen) {
        all.push_back(read(fmt::format("{}@step={}", recorded.path, recorded.steps[step].number), page));
      }
      if (joins) all.push_back(read(last.path, page));
      analyzer::ComparedDumps moments(std::move(all), {}, symbols);
      html::Json of_moments = html::leaks_data(moments);
      for (const char* name : {"left_out", "returned"}) of_moments[name] = leaks[name];
      leaks = std::move(of_moments);
      page.add_unread(moments.unread());
    }
  }
  const bool left_out = !leaks.is_null() && !leaks["returned"].is_null();
  page.set_part("leaks", std::move(leaks));
  return left_out;
}

int add_dumps(const HtmlOptions& options, const std::vector<std::string>& paths,
              const std::vector<Recorded>& recordings, html::Page& page, Invocation& invocation) {
  if (paths.empty()) return kOk;
  analyzer::SymbolOptions symbols = options.symbols;
  if (options.confidential) symbols.source_folders.clear();
  int status = kOk;
  std::string last_failure;
  {
    std::vector<analyzer::Dump> all;
    for (const std::string& path : paths) {
      all.push_back(read(path, page));
      if (all.back().failure) last_failure = path;
    }
    const ReadDump read_prepared = [&page](const std::string& path) { return read(path, page); };
    // What leaks is said of a process and its children together, as `leaks` does of the same files. The other parts of
    // the page have the files that were given.
    std::vector<std::vector<analyzer::Dump>> children = children_beside(all, read_prepared, invocation);
    analyzer::ComparedDumps dumps(std::move(all), {}, symbols);
    std::optional<analyzer::ComparedDumps> parent;
    if (!dumps.same_run()) {
      std::vector<analyzer::Dump> again;
      for (const std::string& path : paths) again.push_back(read_prepared(path));
      analyzer::ProcessFamily family = analyzer::family_of(std::move(again));
      children = std::move(family.children);
      if (!children.empty()) parent.emplace(std::move(family.parent), analyzer::Filter{}, symbols);
    }
    report_new_order(invocation, dumps);
    page.add(dumps);
    page.set_part("diff", html::diff_data(dumps));
    status = finish_each(invocation, dumps);
    analyzer::ComparedDumps& whole = parent ? *parent : dumps;
    const auto add_findings = [&](analyzer::Leaks& found) {
      add_children(found, whole.views(), std::move(children), {}, symbols, invocation);
    };
    const bool left_out = add_leaks(whole, recordings, symbols, page, add_findings);
    if (left_out && dumps.size() > 1) page.set_part("diff", html::diff_data(dumps));
    page.add_unread(dumps.unread());
  }
  if (!last_failure.empty()) add_failure(last_failure, symbols, page);
  return status;
}

bool written_at_exit(const std::string& path) {
  return std::filesystem::exists(path) &&
         format::Trigger(analyzer::read_process(path).trigger) == format::Trigger::exit;
}

// Each with its page. Where no dump is given that was written while the program ran, its peak is one.
int add_recordings(const HtmlOptions& options, const std::vector<std::string>& paths, std::vector<std::string>& dumps,
                   std::vector<Recorded>& recorded, html::Page& page, Invocation& invocation) {
  if (paths.empty()) return kOk;
  analyzer::SymbolOptions symbols = options.symbols;
  if (options.confidential) symbols.source_folders.clear();
  const bool add_peak =
      dumps.empty() || (paths.size() == 1 && std::all_of(dumps.begin(), dumps.end(), written_at_exit));
  html::Json all = html::Json::array();
  ptrdiff_t added = 0;
  int status = kOk;
  for (const std::string& path : paths) {
    const analyzer::RecordingFile file(path);
    std::unique_ptr<analyzer::OpenedDump> at_peak;
    std::unique_ptr<analyzer::MemoryCategories> categories;
    const auto ask = [&](const analyzer::MemoryTimeline& found) {
      analyzer::Dump dump = analyzer::dump_at(file, path, found.peak());
      page.prepare(dump);
      at_peak = std::make_unique<analyzer::OpenedDump>(std::move(dump), symbols);
      categories = std::make_unique<analyzer::MemoryCategories>(at_peak->dump, at_peak->names_of_run.get());
      return analyzer::TimelineQuestions{categories.get(), {}, 0};
    };
    const analyzer::MemoryTimeline timeline = analyzer::read_timeline(file, html::kPartsOfTimeline, ask);
    all.push_back(html::recording_data(file, timeline, *at_peak, page.payload()));
    page.add_unread(at_peak->places.unread().files());
    const analyzer::DeviceCurve* curve = timeline.curve();
    // The last step may not have ended.
    const std::vector<analyzer::StepRow>& steps = timeline.steps;
    recorded.push_back({path, at_peak->dump.process, {steps.begin(), steps.end() - (steps.empty() ? 0 : 1)}});
    if (add_peak) dumps.insert(dumps.begin() + added++, path + (curve && curve->peak_bytes != 0 ? "@peak" : "@end"));
    for (const std::string& problem : timeline.problems) invocation.say(problem);
    if (!timeline.problems.empty()) status = kBadInput;
  }
  page.set_part("timeline", all);
  return status;
}

int add_values(const std::vector<std::string>& paths, bool confidential, html::Page& page, Invocation& invocation) {
  if (paths.empty()) return kOk;
  const html::ValuesFiles files = values::open_files(paths);
  page.set_part("values", html::values_data(files, confidential, page.payload()));
  page.set_part("calls", html::calls_data(files));
  int status = kOk;
  for (const auto& file : files) {
    for (const std::string& problem : file->problems()) {
      invocation.say(problem);
      status = kBadInput;
    }
  }
  return status;
}

int run_html(const HtmlOptions& options, Invocation& invocation) {
  if (html::page_template().empty()) {
    invocation.say(std::string(html::why_no_page()));
    return kBadInput;
  }
  if (!may_write(options.output, options.force, invocation)) return kBadInput;
  std::vector<std::string> dumps, recordings, values;
  for (const std::string& path : options.files) {
    (is_values_file(path) ? values : analyzer::is_recording(path) ? recordings : dumps).push_back(path);
  }
  html::Page page(TENSORSCOPE_VERSION, options.confidential);
  std::vector<Recorded> recorded;
  const int of_recordings = add_recordings(options, recordings, dumps, recorded, page, invocation);
  const int of_dumps = add_dumps(options, dumps, recorded, page, invocation);
  const int of_values = add_values(values, options.confidential, page, invocation);
  report_unread(invocation, page.unread());
  const int written = write_page(page, options.output, invocation);
  return std::max({of_recordings, of_dumps, of_values, written});
}

}  // namespace

void add_html(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(
      app, invocation, "html",
      "one page for a browser: what is alive, over time, leaks, out-of-memory story, values; opens offline", run_html);
  verb->add_option("FILE", options->files, "dump files, recordings, moments of them (FILE@peak), values files")
      ->required()
      ->type_name("");
  verb->add_option("-o,--output", options->output, "output file: report.html")->required()->type_name("FILE");
  verb->add_flag("--force", options->force, "overwrite FILE");
  verb->add_flag("--confidential", options->confidential,
                 "leave out source lines, host, user, command line, settings and folders above the project");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope html train.4242.1.tscope -o report.html\n"
      "  tensorscope html train.4242.*.tscope -o report.html --force\n"
      "  tensorscope html train.4242.recording -o report.html            what happened over time\n"
      "  tensorscope html train.4242.oom-1.tscope -o report.html --confidential\n"
      "\n"
      "The file loads nothing from the network. docs/cli/html.md says what a page shows and which browsers open it.");
}

}  // namespace tensorscope::cli
