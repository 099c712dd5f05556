// SPDX-License-Identifier: Apache-2.0
// ranks: all processes of a job in one answer.
#include "export/json/ranks.h"

#include <algorithm>
#include <thread>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "ranks/rank_answer.h"
#include "ranks/rank_leaks.h"
#include "ranks/read_ranks.h"
#include "text/ranks/holders.h"
#include "text/ranks/report.h"

namespace tensorscope::cli {

namespace {

struct RanksOptions {
  std::vector<std::string> dumps;
  std::string job;
  size_t top = 10, threads = 0;
  bool json = false, leaks = false;
  analyzer::Filter filter;
  analyzer::SymbolOptions symbols;
};

// Each has a whole dump in memory.
size_t usual_threads() { return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8); }

int ranks(const RanksOptions& options, Invocation& invocation) {
  analyzer::NamePool names;
  const size_t threads = options.threads == 0 ? usual_threads() : options.threads;
  const analyzer::ReadRanks read =
      analyzer::read_ranks(analyzer::dump_files(options.dumps), options.filter, options.symbols, threads, names);
  int status = kOk;
  for (const std::string& mistake : read.unreadable) {
    invocation.say(mistake);
    status = kBadInput;
  }
  for (const analyzer::RankDump& dump : read.dumps) {
    for (const std::string& problem : dump.problems) invocation.report_once(problem);
    if (!dump.problems.empty()) status = kBadInput;
  }
  if (read.dumps.empty()) return kBadInput;
  const analyzer::RankJob job = analyzer::find_job(read.dumps, options.job);
  const analyzer::RankAnswer answer = analyzer::compare_ranks(read.dumps, job);
  const std::vector<std::string> holders =
      text::outlier_holders(read.dumps, job, answer, names, options.filter, options.symbols);
  analyzer::RankLeaks leaks;
  if (options.leaks) leaks = analyzer::find_rank_leaks(read.dumps, job, options.filter, options.symbols);
  const analyzer::RankLeaks* const asked = options.leaks ? &leaks : nullptr;
  if (options.json) {
    invocation.out += exports::ranks_json(read.dumps, job, answer, names, holders, asked, read.unreadable);
  } else {
    invocation.out += text::ranks_text({read.dumps, job, answer, names, holders, asked, read.unreadable.size()},
                                       options.top, invocation.terminal);
  }
  report_unread(invocation, analyzer::unread_files(read.dumps, asked));
  const bool found = !answer.outliers.empty() || !job.missing.empty() || answer.out_of_memory || !leaks.leaks.empty();
  return status != kOk ? status : found ? kFound : kOk;
}

}  // namespace

void add_ranks(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "ranks",
                                  "all ranks of a job: what is the same, what differs, outliers, missing ranks", ranks);
  verb->add_option("DUMP", options->dumps, "dump files, or folders with dumps, of the ranks of a job")
      ->required()
      ->type_name("");
  verb->add_option("--job", options->job, "the job, where the dumps are of several. Default: the newest")
      ->type_name("NAME");
  verb->add_flag("--leaks", options->leaks, "also look for leaks in the dumps of each rank");
  add_top(*verb, options->top);
  verb->add_flag("--json", options->json, "output JSON (docs/json.md)");
  verb->add_option("--threads", options->threads,
                   "dumps that are read at a time. Default: one for each core, at most 8")
      ->check(CLI::Range(1, 256).description(""))
      ->type_name("N");
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope ranks dumps/\n"
      "  tensorscope ranks dumps/train.rank*.*.*.tscope --device cuda\n"
      "  tensorscope ranks dumps/ --leaks\n"
      "\n"
      "Compares the last step, or dump, that most ranks have written; a rank without it is listed.\n"
      "Exit status: 0 nothing found, 1 an outlier, a missing rank, an out-of-memory error or a leak, 2 invalid usage "
      "or\n"
      "a damaged dump.");
}

}  // namespace tensorscope::cli
