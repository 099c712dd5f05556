// SPDX-License-Identifier: Apache-2.0
// check: for CI. Exit status 1 where live memory grew, or is, more than allowed, with the places that did it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/child_dumps.h"
#include "cli/dump_options.h"
#include "cli/verb.h"
#include "recording/moment.h"
#include "text/dump/change_table.h"
#include "text/dump/group_table.h"
#include "text/filter_words.h"
#include "text/leaks/report.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::Change;
using analyzer::Group;

struct CheckOptions {
  std::vector<std::string> dumps;
  std::optional<uint64_t> max_growth, max_live;
  analyzer::GroupBy by = analyzer::GroupBy::line;
  size_t top = 10;
  analyzer::Filter filter;
  analyzer::SymbolOptions symbols;
};

// Growth as `leaks` has it where all dumps are of one run, or of a process and its children; of different runs, which
// have no common history, the difference of live bytes.
struct Growth {
  uint64_t first = 0, last = 0;  // live bytes
  int64_t judged = 0;
  std::optional<analyzer::Leaks> leaks;
};

Growth growth_of(const CheckOptions& options, analyzer::ComparedDumps& dumps,
                 std::vector<std::vector<analyzer::Dump>> children, Invocation& invocation) {
  Growth growth;
  if (!dumps.same_run()) {
    const std::vector<analyzer::View> views = dumps.views();
    growth.first = views.front().selection.bytes();
    growth.last = views.back().selection.bytes();
    growth.judged = int64_t(growth.last - growth.first);
    return growth;
  }
  for (const analyzer::ExcludedDump& left_out : dumps.leave_out_incomparable())
    invocation.say(text::left_out_line(left_out));
  analyzer::Leaks& leaks = growth.leaks.emplace(analyzer::find_leaks(dumps.views(), options.filter.empty()));
  add_children(leaks, dumps.views(), std::move(children), options.filter, options.symbols, invocation);
  growth.first = leaks.bytes.front();
  growth.last = leaks.bytes.back();
  growth.judged = leaks.growth.lasting();
  return growth;
}

std::string growth_words(const Growth& growth) {
  std::string words = fmt::format("live bytes {} -> {}, {}", text::bytes(growth.first), text::bytes(growth.last),
                                  text::signed_bytes(int64_t(growth.last - growth.first)));
  if (!growth.leaks) return words;
  const analyzer::GrowthShares& shares = growth.leaks->growth;
  if (shares.running != 0) words += fmt::format(", {} of it in the running step", text::signed_bytes(shares.running));
  if (shares.children != 0) words += fmt::format(", child processes {}", text::signed_bytes(shares.children));
  if (shares.lasting() != shares.all) words += fmt::format(": growth {}", text::signed_bytes(shares.lasting()));
  return words;
}

// True where the limit holds.
bool check_growth(const CheckOptions& options, analyzer::ComparedDumps& dumps,
                  std::vector<std::vector<analyzer::Dump>> children, Invocation& invocation) {
  const Growth growth = growth_of(options, dumps, std::move(children), invocation);
  const bool holds = growth.judged <= 0 || uint64_t(growth.judged) <= *options.max_growth;
  invocation.out += fmt::format("{}: {}; {} allowed\n", holds ? "ok" : "too much growth", growth_words(growth),
                                text::signed_bytes(int64_t(std::min<uint64_t>(*options.max_growth, INT64_MAX))));
  if (holds) return true;
  if (growth.leaks) invocation.out += "leaks: " + leaks_answer(dumps, *growth.leaks, invocation.terminal);
  analyzer::Difference difference = analyzer::difference(dumps.views(), options.by);
  std::erase_if(difference.changes, [](const Change& change) { return change.byte_growth() <= 0; });
  if (difference.changes.empty()) return false;
  invocation.out += change_table(dumps, difference.changes, options.by, options.top, false, invocation.terminal);
  return false;
}

bool check_live(const CheckOptions& options, analyzer::ComparedDumps& dumps, Invocation& invocation) {
  uint64_t live = dumps.live_bytes();
  bool holds = live <= *options.max_live;
  invocation.out += fmt::format("{}: {} live; {} allowed\n", holds ? "ok" : "too much live", text::bytes(live),
                                text::bytes(*options.max_live));
  if (holds) return true;
  std::vector<Group> groups = analyzer::group(dumps.views().back(), options.by);
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.label < b.label; });
  if (options.top != 0 && groups.size() > options.top) groups.resize(options.top);
  invocation.out += group_table(dumps.last(), groups, options.by, live, false, invocation.terminal);
  return false;
}

int check(const CheckOptions& options, Invocation& invocation) {
  if (!options.max_growth && !options.max_live) {
    invocation.say("check needs a limit: --max-growth SIZE, --max-live SIZE or both.");
    return kBadInput;
  }
  if (options.max_growth && options.dumps.size() < 2) {
    invocation.say("--max-growth needs two dumps: tensorscope check EARLIER LATER --max-growth SIZE");
    return kBadInput;
  }
  std::vector<analyzer::Dump> given;
  for (const std::string& path : options.dumps) given.push_back(analyzer::read_dump_or_moment(path));
  std::vector<std::vector<analyzer::Dump>> children;
  if (options.max_growth) {
    children = children_beside(given, analyzer::read_dump_or_moment, invocation);
    analyzer::ProcessFamily family = analyzer::family_of(std::move(given));
    if (children.empty()) children = std::move(family.children);
    given = std::move(family.parent);
    if (given.size() < 2) {
      invocation.say("--max-growth needs two dumps of the same process, or of two runs.");
      return kBadInput;
    }
  }
  analyzer::ComparedDumps dumps(std::move(given), options.filter, options.symbols);
  report_new_order(invocation, dumps);
  if (const auto why = dumps.why_nothing(options.filter)) invocation.say(text::no_match_phrase(*why) + ".");
  // The last one may be left out where growth is looked for.
  Invocation live;
  live.terminal = invocation.terminal;
  bool holds = !options.max_live || check_live(options, dumps, live);
  if (options.max_growth) holds = check_growth(options, dumps, std::move(children), invocation) && holds;
  invocation.out += live.out;
  return finish(invocation, dumps, holds ? kOk : kFound);
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "check", "for CI: exit status 1 if live memory or its growth exceeds a limit", check);
  verb->add_option("DUMP", options->dumps, "dump files; growth is from the first to the last")
      ->required()
      ->type_name("");
  add_size(*verb, "--max-growth", options->max_growth, "maximum growth of live bytes");
  add_size(*verb, "--max-live", options->max_live, "maximum live bytes in the last dump");
  add_grouping(*verb, options->by);
  add_top(*verb, options->top);
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope check train.4242.1.tscope train.4242.2.tscope --max-growth 1M\n"
      "  tensorscope check train.4242.exit.tscope --max-live 64M --device cuda\n"
      "\n"
      "Exit status: 0 within the limits, 1 over a limit (allocation sites are printed), 2 invalid usage or damaged "
      "dump.");
}

}  // namespace tensorscope::cli
