// SPDX-License-Identifier: Apache-2.0
// leaks: what piles up from dump to dump and why, and what one dump alone shows to be kept for too long.
#include "leaks/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/child_dumps.h"
#include "cli/dump_options.h"
#include "cli/verb.h"
#include "dump/run_dumps.h"
#include "export/json/leaks.h"
#include "memory/taken_names.h"
#include "oom/earlier_names.h"
#include "recording/moment.h"
#include "text/filter_words.h"
#include "text/leaks/report.h"
#include "text/shell_word.h"

namespace tensorscope::cli {

namespace {

struct LeaksOptions {
  std::vector<std::string> dumps;
  size_t top = 10;
  bool json = false;
  analyzer::Filter filter;
  analyzer::SymbolOptions symbols;
};

// One dump alone gets the names that it lacks of an earlier one of the run beside it, as for `oom`: memory had run out.
std::vector<analyzer::Dump> read(const std::vector<std::string>& paths) {
  std::vector<analyzer::Dump> dumps;
  for (const std::string& path : paths) dumps.push_back(analyzer::read_dump_or_moment(path));
  if (dumps.size() > 1 || !analyzer::oom::lacks_names(dumps.front())) return dumps;
  const std::optional<analyzer::Dump> earlier = analyzer::oom::earlier_with_names(dumps.front());
  if (earlier) analyzer::take_names(dumps.front(), *earlier);
  return dumps;
}

// What to type where one dump was given and others of the run lie beside it; "" where there are none.
std::string comparison(const analyzer::Dump& dump) {
  constexpr size_t kMaxFiles = 256, kEarlier = 2;
  std::vector<analyzer::RunDump> beside = analyzer::dumps_beside(dump.path, dump.process, kMaxFiles);
  std::erase_if(beside, [&](const analyzer::RunDump& other) { return other.dump_ns >= dump.process.dump_ns; });
  if (beside.empty()) return "";
  std::sort(beside.begin(), beside.end(), [](const auto& a, const auto& b) { return a.dump_ns < b.dump_ns; });
  if (beside.size() > kEarlier) beside.erase(beside.begin(), beside.end() - kEarlier);
  std::string command = "tensorscope leaks";
  for (const analyzer::RunDump& other : beside)
    command += " " + text::shell_word(std::filesystem::path(other.path).lexically_normal().string());
  return command + " " + text::shell_word(dump.path);
}

int leaks(const LeaksOptions& options, Invocation& invocation) {
  std::vector<analyzer::Dump> given = read(options.dumps);
  std::vector<std::vector<analyzer::Dump>> beside = children_beside(given, analyzer::read_dump_or_moment, invocation);
  analyzer::ProcessFamily family = analyzer::family_of(std::move(given));
  if (!beside.empty()) family.children = std::move(beside);  // then all that were given are of one process
  analyzer::ComparedDumps dumps(std::move(family.parent), options.filter, options.symbols);
  report_new_order(invocation, dumps);
  if (!dumps.same_run()) {
    invocation.say("the dumps are of different runs; leaks needs dumps of one run. tensorscope diff compares runs.");
    return kBadInput;
  }
  if (const auto why = dumps.why_nothing(options.filter)) invocation.say(text::no_match_phrase(*why) + ".");
  for (const analyzer::ExcludedDump& left_out : dumps.leave_out_incomparable())
    invocation.say(text::left_out_line(left_out));
  report_without_names(invocation, dumps);
  analyzer::Leaks found = analyzer::find_leaks(dumps.views(), options.filter.empty());
  add_children(found, dumps.views(), std::move(family.children), options.filter, options.symbols, invocation);
  if (options.json) {
    invocation.out += exports::leaks_json(dumps.views(), found);
  } else {
    invocation.out += leaks_text(dumps, found, options.top, invocation.terminal);
    const std::string next = dumps.size() == 1 && !dumps.last().dump.moment ? comparison(dumps.last().dump) : "";
    if (!next.empty()) invocation.out += "\nnext:  " + next + "  compare with earlier dumps of this run\n";
  }
  return finish(invocation, dumps, found.found() ? kFound : kOk);
}

}  // namespace

void add_leaks(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "leaks",
                                  "memory leaks: what grows from dump to dump, what holds it, how to fix it", leaks);
  verb->add_option("DUMP", options->dumps, "dump files of one run; three or more give the best results")
      ->required()
      ->type_name("");
  add_top(*verb, options->top);
  verb->add_flag("--json", options->json, "output JSON (docs/cli/leaks.md)");
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope leaks train.4242.1.tscope train.4242.2.tscope train.4242.3.tscope\n"
      "  tensorscope leaks train.4242.*.tscope --device cuda\n"
      "  tensorscope leaks train.4242.exit.tscope\n"
      "\n"
      "Exit status: 0 nothing found, 1 something found, 2 invalid usage or damaged dump. A single dump shows findings "
      "that\n"
      "need no growth: cycles, tracebacks, small views of large storages, stray leaves, parameters in two dtypes.");
}

}  // namespace tensorscope::cli
