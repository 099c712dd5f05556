// SPDX-License-Identifier: Apache-2.0
// leaks: what piles up from dump to dump and why, and what one dump alone shows to be kept for too long.
#include "leaks/leaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "dump/run_dumps.h"
#include "export/json/leaks.h"
#include "leaks/child_processes.h"
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

// Whether dumps are of one process, at moments of which its children may have written dumps as well.
bool may_have_children(const std::vector<analyzer::Dump>& dumps) {
  return dumps.size() > 1 && std::ranges::all_of(dumps, [&](const analyzer::Dump& dump) {
           return !dump.moment && dump.process.run_id == dumps.front().process.run_id;
         });
}

// Children's dumps that were written with these and lie beside them. One dump of a child shows no growth.
void read_children_beside(std::vector<analyzer::Dump>& dumps, Invocation& invocation) {
  constexpr size_t kMaxFiles = 4096, kMaxNames = 4;
  if (!may_have_children(dumps)) return;
  std::map<std::string, std::vector<analyzer::Dump>> children;
  for (const std::string& path : analyzer::dumps_of_children_beside(dumps, kMaxFiles)) {
    analyzer::Dump dump = analyzer::read_dump_or_moment(path);
    children[dump.process.run_id].push_back(std::move(dump));
  }
  const size_t with_any = std::erase_if(children, [](const auto& child) { return child.second.size() < 2; });
  if (children.empty() && with_any > 0) {
    invocation.say(
        fmt::format("child processes wrote one dump each with these, which shows no growth: a later dump of "
                    "process {} lets those that go on growing write another",
                    dumps.front().process.pid));
  }
  std::vector<std::string> names;
  for (auto& [run, child] : children) {
    for (analyzer::Dump& dump : child) {
      names.push_back(std::filesystem::path(dump.path).filename().string());
      dumps.push_back(std::move(dump));
    }
  }
  if (names.empty()) return;
  const size_t shown = std::min(names.size(), kMaxNames);
  const std::string rest = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  invocation.say(fmt::format("child processes wrote dumps with these, which are read, too: {}{}",
                             fmt::join(names.begin(), names.begin() + ptrdiff_t(shown), ", "), rest));
}

// Adds what the children's dumps show: one dump of a child shows no growth.
void add_children(analyzer::Leaks& found, std::vector<std::vector<analyzer::Dump>> children,
                  const LeaksOptions& options, Invocation& invocation) {
  for (std::vector<analyzer::Dump>& child : children) {
    analyzer::ComparedDumps dumps(std::move(child), options.filter, options.symbols);
    for (const analyzer::ExcludedDump& left_out : dumps.leave_out_incomparable())
      invocation.say(text::left_out_line(left_out));
    report_without_names(invocation, dumps);
    if (dumps.size() < 2) continue;
    analyzer::Leaks leaks = analyzer::find_leaks(dumps.views(), options.filter.empty());
    analyzer::add_findings_of_child(found, dumps.views(), std::move(leaks));
  }
  analyzer::leave_out_explained_children(found);
}

int leaks(const LeaksOptions& options, Invocation& invocation) {
  std::vector<analyzer::Dump> given = read(options.dumps);
  read_children_beside(given, invocation);
  analyzer::ProcessFamily family = analyzer::family_of(std::move(given));
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
  add_children(found, std::move(family.children), options, invocation);
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
