#include "text/ranks/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "text/dump/headline.h"
#include "text/leaks/phrases.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::kNone;
using analyzer::RankDump;
using analyzer::RankMember;
using analyzer::RankMoment;
using analyzer::RankOutlier;
using analyzer::RankRow;
using analyzer::RankSubject;

// "rank 0", "ranks 0, 2-5".
std::string members_words(const analyzer::RankJob& job, const std::vector<uint32_t>& members) {
  std::vector<int> ranks;
  std::string pids;
  for (const uint32_t i : members) {
    ranks.push_back(job.members[i].rank);
    pids += (pids.empty() ? "" : ", ") + std::to_string(job.members[i].pid);
  }
  if (!ranks.empty() && ranks.front() < 0) return fmt::format("{} {}", members.size() == 1 ? "pid" : "pids", pids);
  return fmt::format("{} {}", members.size() == 1 ? "rank" : "ranks", rank_list(ranks));
}

std::string moment_words(const RankMoment& moment) {
  switch (moment.kind) {
    case RankMoment::Kind::step:
      return fmt::format("step {}", moment.value);
    case RankMoment::Kind::number:
      return fmt::format("dump {} of each", moment.value);
    case RankMoment::Kind::last:
      return "the last dump of each";
  }
  return "";
}

// "+3.0 MiB, +8 %": against `median`.
std::string against(uint64_t bytes, uint64_t median) {
  const int64_t difference = int64_t(bytes - median);
  std::string out = signed_bytes(difference);
  if (median == 0 || difference == 0) return out;
  const double part = 100.0 * double(difference) / double(median);
  return out + (part > -0.5 && part < 0.5 ? ""
                : part > 999              ? fmt::format(", {:.0f} x", double(bytes) / double(median))
                                          : fmt::format(", {:+.0f} %", part));
}

class Writer {
 public:
  Writer(const RanksShown& shown, size_t top, const Terminal& terminal)
      : shown_(shown), job_(shown.job), answer_(shown.answer), top_(top), terminal_(terminal) {}

  std::string text() {
    title();
    if (job_.moments.empty()) return out_;
    out_of_memory();
    members();
    outliers();
    differences();
    steps();
    growth();
    leaks();
    return out_;
  }

 private:
  void line(const std::string& words, int indent = 2, Style style = Style::plain) {
    out_ += terminal_.styled(style, wrap(clean(words), terminal_.width, indent)) + "\n";
  }
  const RankMoment& moment() const { return job_.moments[job_.compared]; }
  const RankDump* dump_of(uint32_t member) const {
    const uint32_t dump = moment().dump_of[member];
    return dump == kNone ? nullptr : &shown_.dumps[dump];
  }
  const std::string& name(uint32_t id) const { return shown_.names[id]; }
  std::string of(uint32_t member) const { return member_name(job_.members[member]); }

  void title() {
    const size_t ranks = job_.members.size();
    const bool ranked = ranks > 0 && job_.members.front().rank >= 0;
    std::set<std::string> hosts;
    for (const RankMember& member : job_.members) hosts.insert(member.host);
    std::string words = !ranked               ? counted(ranks, "process")
                        : job_.world_size > 0 ? fmt::format("{} of {} ranks", ranks, job_.world_size)
                                              : counted(ranks, "rank");
    if (!ranked && ranks != 1) words = fmt::format("{} processes", ranks);
    words += fmt::format(", {}", counted(hosts.size(), "host"));
    if (!job_.moments.empty()) {
      words += fmt::format("; {}: median {} live, {} holds most: {} ({}), {} least: {}", moment_words(moment()),
                           bytes(answer_.live.median), of(answer_.live.most_member), bytes(answer_.live.most),
                           against(answer_.live.most, answer_.live.median), of(answer_.live.least_member),
                           bytes(answer_.live.least));
    }
    line(words, 2, Style::bold);
    if (ranks > 0) about();
    if (!job_.missing.empty()) {
      line(fmt::format("missing: {} {}", job_.missing.size() == 1 ? "rank" : "ranks", rank_list(job_.missing)), 2,
           Style::bad);
    }
    std::vector<uint32_t> absent;
    for (uint32_t i = 0; !job_.moments.empty() && i < ranks; ++i) {
      if (dump_of(i) == nullptr) absent.push_back(i);
    }
    if (!absent.empty()) {
      line(fmt::format("without a dump at {}: {}", moment_words(moment()), members_words(job_, absent)), 2, Style::bad);
    }
    left_out();
    out_ += "\n";
  }

  void about() {
    const analyzer::Process& process = shown_.dumps[job_.members.front().dumps.front()].process;
    std::string words = program_name(process);
    if (!job_.name.empty()) words += ", job " + job_.name;
    if (!process.torch_version.empty()) words += ", torch " + process.torch_version;
    words += fmt::format(", {}", counted(shown_.dumps.size(), "dump"));
    for (const analyzer::RankMomentSums& sums : answer_.moments) {
      if (sums.moment != job_.compared || sums.members < 2) continue;
      words += fmt::format("; written within {}", duration(sums.to_unix_ns - sums.from_unix_ns));
    }
    if (job_.stages) words += "; ranks are compared within their pipeline stage";
    line(words);
  }

  void left_out() {
    if (shown_.unreadable > 0) line(fmt::format("not read: {}", counted(shown_.unreadable, "file")), 2, Style::bad);
    if (job_.other_job_dumps > 0) {
      std::string names;
      for (const std::string& other : job_.other_jobs) {
        names += (names.empty() ? "" : ", ") + (other.empty() ? "without a name" : other);
      }
      line(fmt::format("left out: {} of other jobs ({}); --job NAME", counted(job_.other_job_dumps, "dump"), names));
    }
    if (job_.earlier_run_dumps > 0) {
      line(fmt::format("left out: {} of earlier runs of the same ranks", counted(job_.earlier_run_dumps, "dump")));
    }
    if (job_.without_rank_dumps > 0) {
      line(fmt::format("left out: {} of processes without a rank", counted(job_.without_rank_dumps, "dump")));
    }
  }

  void out_of_memory() {
    if (!answer_.out_of_memory) return;
    const analyzer::RankOutOfMemory& first = *answer_.out_of_memory;
    const RankDump& dump = shown_.dumps[first.dump];
    const analyzer::RankFailure& failure = *dump.failure;
    std::string words = fmt::format("out of memory first: {}, {} requested on {}", of(first.member),
                                    bytes(failure.requested), failure.device.text());
    if (!failure.where.empty()) words += " at " + failure.where;
    if (dump.process.step >= 0) words += fmt::format(", step {}", dump.process.step);
    line(words + fmt::format("; it held {} (tensorscope oom {})", bytes(dump.live_bytes), dump.path), 2, Style::bad);
    if (!first.also.empty()) line(fmt::format("  later also: {}", members_words(job_, first.also)), 4);
    Table table({{.title = "the others then"},
                 {.title = "held", .align = Align::right},
                 {.title = "against it", .align = Align::right},
                 {.title = "dump"}});
    size_t shown = 0;
    for (const analyzer::HeldThen& other : first.others) {
      if (top_ != 0 && shown++ == top_) break;
      const RankDump& then = shown_.dumps[other.dump];
      const uint64_t away = uint64_t(other.after_ns < 0 ? -other.after_ns : other.after_ns);
      table.row({of(other.member), bytes(then.live_bytes), signed_bytes(int64_t(then.live_bytes - dump.live_bytes)),
                 fmt::format("{} {}", duration(away), other.after_ns < 0 ? "before" : "after")});
    }
    if (!table.empty()) out_ += table.text(terminal_);
    out_ += "\n";
  }

  // With many ranks: those with the most and the least.
  std::vector<uint32_t> listed_members() const {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < job_.members.size(); ++i) all.push_back(i);
    if (top_ == 0 || all.size() <= 2 * top_) return all;
    const auto live = [&](uint32_t i) { return dump_of(i) ? dump_of(i)->live_bytes : 0; };
    std::stable_sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) { return live(a) > live(b); });
    all.erase(all.begin() + std::ptrdiff_t(top_), all.end() - std::ptrdiff_t(top_));
    return all;
  }

  void members() {
    const std::vector<uint32_t> listed = listed_members();
    bool reserved = false;
    for (const uint32_t i : listed) reserved = reserved || (dump_of(i) && dump_of(i)->reserved_bytes > 0);
    Table table({{.title = job_.members.front().rank >= 0 ? "rank" : "process", .align = Align::right},
                 {.title = "live", .align = Align::right},
                 {.title = "against median", .align = Align::right},
                 {.title = "peak", .align = Align::right},
                 {.title = "reserved", .align = Align::right},
                 {.title = "resident", .align = Align::right},
                 {.title = "tensors", .align = Align::right},
                 {.title = job_.stages ? "stage" : "", .align = Align::right},
                 {.title = "workers", .align = Align::right},
                 {.title = "pid", .align = Align::right},
                 {.title = "host", .least = 8}});
    for (const uint32_t i : listed) {
      const RankMember& member = job_.members[i];
      const std::string number = std::to_string(member.rank >= 0 ? member.rank : int(i));
      std::string workers;
      if (!member.workers.empty()) {
        uint64_t live = 0;
        for (const uint32_t worker : member.workers) live += shown_.dumps[worker].live_bytes;
        workers = fmt::format("{}, {}", member.workers.size(), bytes(live));
      }
      const RankDump* dump = dump_of(i);
      if (dump == nullptr) {
        table.row({number, "", "no dump", "", "", "", "", "", workers, std::to_string(member.pid), member.host});
        continue;
      }
      table.row({number, bytes(dump->live_bytes), against(dump->live_bytes, answer_.live.median),
                 bytes(dump->peak_bytes), reserved ? bytes(dump->reserved_bytes) : "", bytes(dump->resident_bytes),
                 count(dump->tensors), job_.stages ? std::to_string(member.peers) : "", workers,
                 std::to_string(member.pid), member.host});
    }
    out_ += table.text(terminal_);
    if (listed.size() < job_.members.size()) {
      line(
          fmt::format("  {} of {} ranks: those that hold most and least; --top N", listed.size(), job_.members.size()));
    }
    out_ += "\n";
  }

  void outliers() {
    if (answer_.outliers.empty()) {
      if (moment().members() < 3) return;
      line("no outlier: no rank holds more or less of anything than the others");
      out_ += "\n";
      return;
    }
    std::set<uint32_t> who;
    for (const RankOutlier& outlier : answer_.outliers) who.insert(outlier.member);
    line(fmt::format("outliers: {}", members_words(job_, {who.begin(), who.end()})), 2, Style::bold);
    Table table({{.title = ""},
                 {.title = "difference", .align = Align::right},
                 {.title = "bytes", .align = Align::right},
                 {.title = "median", .align = Align::right},
                 {.title = "of"},
                 {.title = "", .least = 24, .cut = Cut::start}});
    uint32_t last = kNone;
    size_t of_kind[analyzer::kRankSubjects] = {};
    for (size_t i = 0; i < answer_.outliers.size(); ++i) {
      const RankOutlier& outlier = answer_.outliers[i];
      if (outlier.member != last) std::fill(std::begin(of_kind), std::end(of_kind), 0);
      if (!outlier.total && top_ != 0 && of_kind[size_t(outlier.subject)]++ >= std::max<size_t>(top_ / 3, 1)) continue;
      table.row({outlier.member == last ? "" : of(outlier.member), signed_bytes(outlier.difference()),
                 bytes(outlier.bytes), bytes(outlier.median),
                 outlier.total ? "total" : analyzer::kRankSubjectNames[size_t(outlier.subject)],
                 outlier.total ? "" : name(outlier.name)});
      if (!shown_.holders[i].empty()) table.note(2, shown_.holders[i]);
      last = outlier.member;
    }
    out_ += table.text(terminal_) + "\n";
  }

  void differences() {
    for (size_t i = 0; i < analyzer::kRankSubjects; ++i) difference_of(RankSubject(i));
    if (!out_.ends_with("\n\n")) out_ += "\n";
  }

  void difference_of(RankSubject subject) {
    size_t same = 0, differ = 0;
    uint64_t same_bytes = 0;
    for (const RankRow& row : answer_.rows) {
      if (row.subject != subject) continue;
      (row.same ? same : differ) += 1;
      if (row.same) same_bytes += row.spread.median;
    }
    if (same + differ == 0) return;
    const char* what = subject == RankSubject::category ? "categories"
                       : subject == RankSubject::module ? "modules"
                                                        : "allocation sites";
    std::string words =
        fmt::format("{}: {} of {} the same on all ranks, {}", what, same, same + differ, bytes(same_bytes));
    if (differ > 0 && top_ != 0 && differ > top_)
      words += fmt::format("  (showing {} of {} that differ; --top N)", top_, differ);
    line(words, 2, Style::bold);
    if (differ == 0) return;
    Table table({{.title = "least", .align = Align::right},
                 {.title = "median", .align = Align::right},
                 {.title = "most", .align = Align::right},
                 {.title = "on"},
                 {.title = "ranks", .align = Align::right},
                 {.title = analyzer::kRankSubjectNames[size_t(subject)], .least = 24, .cut = Cut::start}});
    size_t rows = 0;
    for (const RankRow& row : answer_.rows) {
      if (row.subject != subject || row.same || (top_ != 0 && rows++ >= top_)) continue;
      table.row({bytes(row.spread.least), bytes(row.spread.median), bytes(row.spread.most), of(row.spread.most_member),
                 std::to_string(row.members), name(row.name)});
    }
    out_ += table.text(terminal_) + "\n";
  }

  void steps() {
    if (answer_.moments.size() < 2) return;
    line("over time", 2, Style::bold);
    Table table(
        {{.title = job_.moments.front().kind == RankMoment::Kind::step ? "step" : "dump", .align = Align::right},
         {.title = "ranks", .align = Align::right},
         {.title = "least", .align = Align::right},
         {.title = "median", .align = Align::right},
         {.title = "most", .align = Align::right},
         {.title = "skew", .align = Align::right},
         {.title = "most on"},
         {.title = "written within", .align = Align::right}});
    const size_t begin = top_ != 0 && answer_.moments.size() > 2 * top_ ? answer_.moments.size() - 2 * top_ : 0;
    for (size_t i = begin; i < answer_.moments.size(); ++i) {
      const analyzer::RankMomentSums& sums = answer_.moments[i];
      table.row({std::to_string(job_.moments[sums.moment].value), std::to_string(sums.members), bytes(sums.live.least),
                 bytes(sums.live.median), bytes(sums.live.most), bytes(sums.live.range()), of(sums.live.most_member),
                 duration(sums.to_unix_ns - sums.from_unix_ns)});
    }
    out_ += table.text(terminal_) + "\n";
  }

  void growth() {
    if (answer_.growth.empty()) return;
    line(fmt::format("growth since {}", moment_words(job_.moments[answer_.growth_since])), 2, Style::bold);
    Table table({{.title = "median", .align = Align::right},
                 {.title = "most", .align = Align::right},
                 {.title = "on"},
                 {.title = "ranks", .align = Align::right},
                 {.title = "site", .least = 24, .cut = Cut::start}});
    for (size_t i = 0; i < answer_.growth.size() && (top_ == 0 || i < top_); ++i) {
      const analyzer::RankGrowth& row = answer_.growth[i];
      table.row({signed_bytes(row.median), signed_bytes(row.most), of(row.most_member), std::to_string(row.members),
                 name(row.name)});
    }
    out_ += table.text(terminal_) + "\n";
  }

  void leaks() {
    if (shown_.leaks == nullptr) return;
    const analyzer::RankLeaks& found = *shown_.leaks;
    line(found.leaks.empty() ? "no leak found" : "leaks", 2, Style::bold);
    Table table({{.title = "least", .align = Align::right},
                 {.title = "most", .align = Align::right},
                 {.title = "on"},
                 {.title = "what", .least = 24}});
    for (const analyzer::RankLeak& leak : found.leaks) {
      const bool all = leak.members.size() + found.skipped.size() == job_.members.size() && leak.members.size() > 1;
      std::string what = title_of(leak);
      table.row({bytes(leak.least), bytes(leak.most), all ? "all ranks" : members_words(job_, leak.members), what});
      const std::string held = holder_phrase(leak.finding);
      if (!held.empty()) table.note(3, "held by " + held);
      table.note(3, advice_phrase(leak.finding));
    }
    if (!table.empty()) out_ += table.text(terminal_);
    if (!found.skipped.empty()) {
      line(fmt::format("not looked at: {}; a leak needs two dumps of a rank", members_words(job_, found.skipped)));
    }
    out_ += "\n";
  }

  static std::string title_of(const analyzer::RankLeak& leak) {
    return leak.where.empty() ? text::title(leak.kind) : fmt::format("{} at {}", text::title(leak.kind), leak.where);
  }

  const RanksShown& shown_;
  const analyzer::RankJob& job_;
  const analyzer::RankAnswer& answer_;
  const size_t top_;
  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

std::string member_name(const RankMember& member) {
  return member.rank >= 0 ? fmt::format("rank {}", member.rank) : fmt::format("pid {}", member.pid);
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i == 2) end = i + 1;  // "3, 4", not "3-4"
    out += (out.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (end - i > 1) out += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return out;
}

std::string ranks_text(const RanksShown& shown, size_t top, const Terminal& terminal) {
  return Writer(shown, top, terminal).text();
}

}  // namespace tensorscope::text
