// SPDX-License-Identifier: Apache-2.0
// check: for CI. Exit status 1 where live memory grew, or is, more than allowed, with the places that did it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "text/dump/change_table.h"
#include "text/dump/group_table.h"
#include "text/filter_words.h"
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

// True where the limit holds.
bool check_growth(const CheckOptions& options, analyzer::ComparedDumps& dumps, Invocation& invocation) {
  analyzer::Difference difference = analyzer::difference(dumps.views(), options.by);
  int64_t growth = int64_t(difference.bytes.back() - difference.bytes.front());
  bool holds = growth <= 0 || uint64_t(growth) <= *options.max_growth;
  invocation.out += fmt::format("{}: live bytes {} -> {}, {}; {} allowed\n", holds ? "ok" : "too much growth",
                                text::bytes(difference.bytes.front()), text::bytes(difference.bytes.back()),
                                text::signed_bytes(growth),
                                text::signed_bytes(int64_t(std::min<uint64_t>(*options.max_growth, INT64_MAX))));
  if (holds) return true;
  std::vector<Change> grown;
  for (Change& change : difference.changes) {
    if (change.byte_growth() > 0) grown.push_back(std::move(change));
  }
  invocation.out += change_table(dumps, grown, options.by, options.top, false, invocation.terminal);
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
  analyzer::ComparedDumps dumps(options.dumps, options.filter, options.symbols);
  report_new_order(invocation, dumps);
  if (const auto why = dumps.why_nothing(options.filter)) invocation.say(text::no_match_phrase(*why) + ".");
  bool holds = true;
  if (options.max_growth) holds = check_growth(options, dumps, invocation) && holds;
  if (options.max_live) holds = check_live(options, dumps, invocation) && holds;
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
