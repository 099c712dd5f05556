// SPDX-License-Identifier: Apache-2.0
#include "text/ranks/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "text/leaks/phrases.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

using analyzer::kNone;
using analyzer::RankDump;
using analyzer::RankMember;
using analyzer::RankMoment;
using analyzer::RankOutlier;
using analyzer::RankRow;
using analyzer::RankSubject;

namespace {

// With many ranks: those with the most and the least.
std::vector<uint32_t> listed_members(const RanksView& view) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < view.job().members.size(); ++i) all.push_back(i);
  if (view.top == 0 || all.size() <= 2 * view.top) return all;
  const auto live = [&](uint32_t i) { return view.dump_of(i) ? view.dump_of(i)->live_bytes : 0; };
  std::stable_sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) { return live(a) > live(b); });
  all.erase(all.begin() + std::ptrdiff_t(view.top), all.end() - std::ptrdiff_t(view.top));
  return all;
}

std::string title_of(const analyzer::RankLeak& leak) {
  return leak.where.empty() ? text::title(leak.kind) : fmt::format("{} at {}", text::title(leak.kind), leak.where);
}

}  // namespace

std::string members_table(const RanksView& view) {
  std::string out;
  const std::vector<uint32_t> listed = listed_members(view);
  bool reserved = false;
  for (const uint32_t i : listed) reserved = reserved || (view.dump_of(i) && view.dump_of(i)->reserved_bytes > 0);
  Table table({{.title = view.job().members.front().rank >= 0 ? "rank" : "process", .align = Align::right},
               {.title = "live", .align = Align::right},
               {.title = "against median", .align = Align::right},
               {.title = "peak", .align = Align::right},
               {.title = "reserved", .align = Align::right},
               {.title = "resident", .align = Align::right},
               {.title = "tensors", .align = Align::right},
               {.title = view.job().stages ? "stage" : "", .align = Align::right},
               {.title = "workers", .align = Align::right},
               {.title = "pid", .align = Align::right},
               {.title = "host", .least = 8}});
  for (const uint32_t i : listed) {
    const RankMember& member = view.job().members[i];
    const std::string number = std::to_string(member.rank >= 0 ? member.rank : int(i));
    std::string workers;
    if (!member.workers.empty()) {
      uint64_t live = 0;
      for (const uint32_t worker : member.workers) live += view.shown.dumps[worker].live_bytes;
      workers = fmt::format("{}, {}", member.workers.size(), bytes(live));
    }
    const RankDump* dump = view.dump_of(i);
    if (dump == nullptr) {
      table.row({number, "", "no dump", "", "", "", "", "", workers, std::to_string(member.pid), member.host});
      continue;
    }
    table.row({number, bytes(dump->live_bytes), against(dump->live_bytes, view.answer().live.median),
               bytes(dump->peak_bytes), reserved ? bytes(dump->reserved_bytes) : "", bytes(dump->resident_bytes),
               count(dump->tensors), view.job().stages ? std::to_string(member.peers) : "", workers,
               std::to_string(member.pid), member.host});
  }
  out += table.text(view.terminal);
  if (listed.size() < view.job().members.size()) {
    out += view.line(fmt::format("  {} of {} ranks: those that hold most and least; --top N", listed.size(),
                                 view.job().members.size()));
  }
  out += "\n";
  return out;
}

std::string outliers_table(const RanksView& view) {
  std::string out;
  if (view.answer().outliers.empty()) {
    if (view.moment().members() < 3) return out;
    out += view.line("no outlier: no rank holds more or less of anything than the others");
    out += "\n";
    return out;
  }
  std::set<uint32_t> who;
  for (const RankOutlier& outlier : view.answer().outliers) who.insert(outlier.member);
  out += view.line(fmt::format("outliers: {}", members_words(view.job(), {who.begin(), who.end()})), 2, Style::bold);
  Table table({{.title = ""},
               {.title = "difference", .align = Align::right},
               {.title = "bytes", .align = Align::right},
               {.title = "median", .align = Align::right},
               {.title = "of"},
               {.title = "", .least = 24, .cut = Cut::start}});
  uint32_t last = kNone;
  size_t of_kind[analyzer::kRankSubjects] = {};
  for (size_t i = 0; i < view.answer().outliers.size(); ++i) {
    const RankOutlier& outlier = view.answer().outliers[i];
    if (outlier.member != last) std::fill(std::begin(of_kind), std::end(of_kind), 0);
    if (!outlier.total && view.top != 0 && of_kind[size_t(outlier.subject)]++ >= std::max<size_t>(view.top / 3, 1))
      continue;
    table.row({outlier.member == last ? "" : view.of(outlier.member), signed_bytes(outlier.difference()),
               bytes(outlier.bytes), bytes(outlier.median),
               outlier.total ? "total" : analyzer::kRankSubjectNames[size_t(outlier.subject)],
               outlier.total ? "" : view.name(outlier.name)});
    if (!view.shown.holders[i].empty()) table.note(2, view.shown.holders[i]);
    last = outlier.member;
  }
  out += table.text(view.terminal) + "\n";
  return out;
}

std::string difference_table(const RanksView& view, RankSubject subject) {
  std::string out;
  size_t same = 0, differ = 0;
  uint64_t same_bytes = 0;
  for (const RankRow& row : view.answer().rows) {
    if (row.subject != subject) continue;
    (row.same ? same : differ) += 1;
    if (row.same) same_bytes += row.spread.median;
  }
  if (same + differ == 0) return out;
  const char* what = subject == RankSubject::category ? "categories"
                     : subject == RankSubject::module ? "modules"
                                                      : "allocation sites";
  std::string words =
      fmt::format("{}: {} of {} the same on all ranks, {}", what, same, same + differ, bytes(same_bytes));
  if (differ > 0 && view.top != 0 && differ > view.top)
    words += fmt::format("  (showing {} of {} that differ; --top N)", view.top, differ);
  out += view.line(words, 2, Style::bold);
  if (differ == 0) return out;
  Table table({{.title = "least", .align = Align::right},
               {.title = "median", .align = Align::right},
               {.title = "most", .align = Align::right},
               {.title = "on"},
               {.title = "ranks", .align = Align::right},
               {.title = analyzer::kRankSubjectNames[size_t(subject)], .least = 24, .cut = Cut::start}});
  size_t rows = 0;
  for (const RankRow& row : view.answer().rows) {
    if (row.subject != subject || row.same || (view.top != 0 && rows++ >= view.top)) continue;
    table.row({bytes(row.spread.least), bytes(row.spread.median), bytes(row.spread.most),
               view.of(row.spread.most_member), std::to_string(row.members), view.name(row.name)});
  }
  out += table.text(view.terminal) + "\n";
  return out;
}

std::string steps_table(const RanksView& view) {
  std::string out;
  if (view.answer().moments.size() < 2) return out;
  out += view.line("over time", 2, Style::bold);
  Table table(
      {{.title = view.job().moments.front().kind == RankMoment::Kind::step ? "step" : "dump", .align = Align::right},
       {.title = "ranks", .align = Align::right},
       {.title = "least", .align = Align::right},
       {.title = "median", .align = Align::right},
       {.title = "most", .align = Align::right},
       {.title = "skew", .align = Align::right},
       {.title = "most on"},
       {.title = "written within", .align = Align::right}});
  const size_t begin =
      view.top != 0 && view.answer().moments.size() > 2 * view.top ? view.answer().moments.size() - 2 * view.top : 0;
  for (size_t i = begin; i < view.answer().moments.size(); ++i) {
    const analyzer::RankMomentSums& sums = view.answer().moments[i];
    table.row({std::to_string(view.job().moments[sums.moment].value), std::to_string(sums.members),
               bytes(sums.live.least), bytes(sums.live.median), bytes(sums.live.most), bytes(sums.live.range()),
               view.of(sums.live.most_member), duration(sums.to_unix_ns - sums.from_unix_ns)});
  }
  out += table.text(view.terminal) + "\n";
  return out;
}

std::string growth_table(const RanksView& view) {
  std::string out;
  if (view.answer().growth.empty()) return out;
  out += view.line(fmt::format("growth since {}", moment_words(view.job().moments[view.answer().growth_since])), 2,
                   Style::bold);
  Table table({{.title = "median", .align = Align::right},
               {.title = "most", .align = Align::right},
               {.title = "on"},
               {.title = "ranks", .align = Align::right},
               {.title = "site", .least = 24, .cut = Cut::start}});
  for (size_t i = 0; i < view.answer().growth.size() && (view.top == 0 || i < view.top); ++i) {
    const analyzer::RankGrowth& row = view.answer().growth[i];
    table.row({signed_bytes(row.median), signed_bytes(row.most), view.of(row.most_member), std::to_string(row.members),
               view.name(row.name)});
  }
  out += table.text(view.terminal) + "\n";
  return out;
}

std::string leaks_table(const RanksView& view) {
  std::string out;
  if (view.shown.leaks == nullptr) return out;
  const analyzer::RankLeaks& found = *view.shown.leaks;
  out += view.line(found.leaks.empty() ? "no leak found" : "leaks", 2, Style::bold);
  Table table({{.title = "least", .align = Align::right},
               {.title = "most", .align = Align::right},
               {.title = "on"},
               {.title = "what", .least = 24}});
  for (const analyzer::RankLeak& leak : found.leaks) {
    const bool all = leak.members.size() + found.skipped.size() == view.job().members.size() && leak.members.size() > 1;
    std::string what = title_of(leak);
    table.row({bytes(leak.least), bytes(leak.most), all ? "all ranks" : members_words(view.job(), leak.members), what});
    const std::string held = holder_phrase(leak.finding);
    if (!held.empty()) table.note(3, "held by " + held);
    table.note(3, advice_phrase(leak.finding));
  }
  if (!table.empty()) out += table.text(view.terminal);
  if (!found.skipped.empty()) {
    out += view.line(
        fmt::format("not looked at: {}; a leak needs two dumps of a rank", members_words(view.job(), found.skipped)));
  }
  out += "\n";
  return out;
}

}  // namespace tensorscope::text
