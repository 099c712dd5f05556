// SPDX-License-Identifier: Apache-2.0
#include "text/ranks/report.h"

#include <fmt/format.h>

#include <set>

#include "text/dump/headline.h"
#include "text/ranks/tables.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::RankDump;
using analyzer::RankMember;

std::string about(const RanksView& view) {
  std::string out;
  const analyzer::Process& process = view.shown.dumps[view.job().members.front().dumps.front()].process;
  std::string words = program_name(process);
  if (!view.job().name.empty()) words += ", job " + view.job().name;
  if (!process.torch_version.empty()) words += ", torch " + process.torch_version;
  words += fmt::format(", {}", counted(view.shown.dumps.size(), "dump"));
  for (const analyzer::RankMomentSums& sums : view.answer().moments) {
    if (sums.moment != view.job().compared || sums.members < 2) continue;
    words += fmt::format("; written within {}", duration(sums.to_unix_ns - sums.from_unix_ns));
  }
  if (view.job().stages) words += "; ranks are compared within their pipeline stage";
  out += view.line(words);
  return out;
}

std::string left_out(const RanksView& view) {
  std::string out;
  if (view.shown.unreadable > 0)
    out += view.line(fmt::format("not read: {}", counted(view.shown.unreadable, "file")), 2, Style::bad);
  if (view.job().other_job_dumps > 0) {
    std::string names;
    for (const std::string& other : view.job().other_jobs) {
      names += (names.empty() ? "" : ", ") + (other.empty() ? "without a name" : other);
    }
    out += view.line(
        fmt::format("left out: {} of other jobs ({}); --job NAME", counted(view.job().other_job_dumps, "dump"), names));
  }
  if (view.job().earlier_run_dumps > 0) {
    out += view.line(
        fmt::format("left out: {} of earlier runs of the same ranks", counted(view.job().earlier_run_dumps, "dump")));
  }
  if (view.job().without_rank_dumps > 0) {
    out += view.line(
        fmt::format("left out: {} of processes without a rank", counted(view.job().without_rank_dumps, "dump")));
  }
  return out;
}

std::string title(const RanksView& view) {
  std::string out;
  const size_t ranks = view.job().members.size();
  const bool ranked = ranks > 0 && view.job().members.front().rank >= 0;
  std::set<std::string> hosts;
  for (const RankMember& member : view.job().members) hosts.insert(member.host);
  std::string words = !ranked                     ? counted(ranks, "process")
                      : view.job().world_size > 0 ? fmt::format("{} of {} ranks", ranks, view.job().world_size)
                                                  : counted(ranks, "rank");
  if (!ranked && ranks != 1) words = fmt::format("{} processes", ranks);
  words += fmt::format(", {}", counted(hosts.size(), "host"));
  if (!view.job().moments.empty()) {
    words += fmt::format("; {}: median {} live, {} holds most: {} ({}), {} least: {}", moment_words(view.moment()),
                         bytes(view.answer().live.median), view.of(view.answer().live.most_member),
                         bytes(view.answer().live.most), against(view.answer().live.most, view.answer().live.median),
                         view.of(view.answer().live.least_member), bytes(view.answer().live.least));
  }
  out += view.line(words, 2, Style::bold);
  if (ranks > 0) out += about(view);
  if (!view.job().missing.empty()) {
    out += view.line(
        fmt::format("missing: {} {}", view.job().missing.size() == 1 ? "rank" : "ranks", rank_list(view.job().missing)),
        2, Style::bad);
  }
  std::vector<uint32_t> absent;
  for (uint32_t i = 0; !view.job().moments.empty() && i < ranks; ++i) {
    if (view.dump_of(i) == nullptr) absent.push_back(i);
  }
  if (!absent.empty()) {
    out += view.line(
        fmt::format("without a dump at {}: {}", moment_words(view.moment()), members_words(view.job(), absent)), 2,
        Style::bad);
  }
  out += left_out(view);
  out += "\n";
  return out;
}

std::string out_of_memory(const RanksView& view) {
  std::string out;
  if (!view.answer().out_of_memory) return out;
  const analyzer::RankOutOfMemory& first = *view.answer().out_of_memory;
  const RankDump& dump = view.shown.dumps[first.dump];
  const analyzer::RankFailure& failure = *dump.failure;
  std::string words = fmt::format("out of memory first: {}, {} requested on {}", view.of(first.member),
                                  bytes(failure.requested), failure.device.text());
  if (!failure.where.empty()) words += " at " + failure.where;
  if (dump.process.step >= 0) words += fmt::format(", step {}", dump.process.step);
  out += view.line(words + fmt::format("; it held {} (tensorscope oom {})", bytes(dump.live_bytes), dump.path), 2,
                   Style::bad);
  if (!first.also.empty()) out += view.line(fmt::format("  later also: {}", members_words(view.job(), first.also)), 4);
  Table table({{.title = "the others then"},
               {.title = "held", .align = Align::right},
               {.title = "against it", .align = Align::right},
               {.title = "dump"}});
  size_t shown = 0;
  for (const analyzer::HeldThen& other : first.others) {
    if (view.top != 0 && shown++ == view.top) break;
    const RankDump& then = view.shown.dumps[other.dump];
    const uint64_t away = uint64_t(other.after_ns < 0 ? -other.after_ns : other.after_ns);
    table.row({view.of(other.member), bytes(then.live_bytes), signed_bytes(int64_t(then.live_bytes - dump.live_bytes)),
               fmt::format("{} {}", duration(away), other.after_ns < 0 ? "before" : "after")});
  }
  if (!table.empty()) out += table.text(view.terminal);
  out += "\n";
  return out;
}

}  // namespace

std::string ranks_text(const RanksShown& shown, size_t top, const Terminal& terminal) {
  const RanksView view{shown, top, terminal};
  std::string out = title(view);
  if (shown.job.moments.empty()) return out;
  out += out_of_memory(view) + members_table(view) + outliers_table(view);
  for (size_t i = 0; i < analyzer::kRankSubjects; ++i) out += difference_table(view, analyzer::RankSubject(i));
  if (!out.ends_with("\n\n")) out += "\n";
  return out + steps_table(view) + growth_table(view) + leaks_table(view);
}

}  // namespace tensorscope::text
