// SPDX-License-Identifier: Apache-2.0
#include "text/leaks/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "text/dump/holders.h"
#include "text/leaks/phrases.h"
#include "text/leaks/suspects.h"
#include "text/table.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Fact;
using analyzer::GrownPlace;
using analyzer::Growth;
using analyzer::LeakFinding;
using analyzer::LeakKind;
using analyzer::Leaks;
using text::Style;
using text::Terminal;

// "+2.0 MiB +2.1 MiB"
std::string steps(const std::vector<uint64_t>& values, std::string (*words)(int64_t)) {
  std::string text;
  for (size_t i = 1; i < values.size(); ++i) text += (i > 1 ? " " : "") + words(int64_t(values[i] - values[i - 1]));
  return text;
}

bool same(const std::vector<uint64_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](uint64_t value) { return value == values.front(); });
}

// "10 -> 20 -> 30"
std::string values_text(const Fact& fact) {
  std::string text;
  for (uint64_t value : fact.values) {
    text += (text.empty() ? "" : " -> ") + (analyzer::in_bytes(fact.kind) ? text::bytes(value) : text::count(value));
  }
  return text;
}

std::string fact_text(const Fact& fact) {
  return fact.values.empty() ? text::fact_phrase(fact) : text::fact_phrase(fact) + ": " + values_text(fact);
}

bool about_bytes(const LeakFinding& finding) {
  return !same(finding.growth.bytes) && finding.kind != LeakKind::graph_nodes;
}

// "+10.0 MiB +10.0 MiB": where there is more than one interval.
std::string intervals_text(const LeakFinding& finding) {
  const Growth& growth = finding.growth;
  if (growth.bytes.size() < 3 || (same(growth.bytes) && same(growth.count))) return "";
  if (about_bytes(finding)) return steps(growth.bytes, text::signed_bytes);
  return steps(growth.count, text::signed_count) + " " + text::counts_phrase(finding.counts);
}

const char* reason_words(analyzer::Remark::Reason reason) {
  switch (reason) {
    case analyzer::Remark::Reason::slows:
      return "it grows by less and less, as a cache that becomes warm; a later dump shows whether it ends";
    case analyzer::Remark::Reason::follows_parameters:
      return "gradients and optimizer state became more as more parameters are trained";
    case analyzer::Remark::Reason::one_interval:
      return "since two dumps do not tell what is filled once from what goes on: a third dump decides";
    case analyzer::Remark::Reason::waits_for_collector:
      return "since Python's garbage collector frees unreachable cycles when it comes to them (gc.collect())";
    case analyzer::Remark::Reason::does_not_grow:
      return "since it does not become more: a leaf with a gradient that is in no optimizer";
    case analyzer::Remark::Reason::seldom_larger:
      return "it is replaced by a larger one now and then, as a buffer that doubles when it is full; dumps further "
             "apart "
             "show whether this goes on";
  }
  return "";
}

std::string remark_text(const analyzer::Remark& remark, const std::string& first_dump) {
  const std::string intervals = intervals_text(remark.what);
  return text::finding_headline(remark.what, first_dump) + (intervals.empty() ? "" : " (" + intervals + ")") +
         ": no finding, " + reason_words(remark.reason) + ".";
}

constexpr int kLabelled = 18;  // where the text behind a label begins

// A path that is longer than the line loses its beginning.
std::string cut_place(const std::string& where, const Terminal& terminal) {
  if (terminal.width == 0) return text::clean(where);
  return text::cut(text::clean(where), std::max(24, terminal.width - kLabelled - 1), text::Cut::start);
}

std::string place_text(analyzer::OpenedDump& opened, uint32_t site, const Terminal& terminal) {
  const std::string source = opened.places.source_line(site);
  const std::string where = cut_place(opened.places.at(site).where, terminal);
  return source.empty() ? where : where + ": " + source;
}

void add_labelled(std::string& out, const char* label, const std::string& text, const Terminal& terminal, Style style) {
  if (text.empty()) return;
  std::string line = text::wrap(fmt::format("   {:<15}{}", label, text::clean(text)), terminal.width, kLabelled);
  out += terminal.styled(style, line) + "\n";
}

// With the calls that led there: every operation may pass through one line, as a __torch_function__'s.
void add_creation(std::string& out, analyzer::OpenedDump& opened, uint32_t site, const Terminal& terminal) {
  constexpr size_t kMaxCallers = 2;
  add_labelled(out, "created at", place_text(opened, site, terminal), terminal, Style::plain);
  std::vector<std::string> callers = opened.places.calling_places(site, kMaxCallers, analyzer::Places::TopLevel::shown);
  for (std::string& caller : callers) caller = cut_place(caller, terminal);
  add_labelled(out, "called by", fmt::format("{}", fmt::join(callers, " <- ")), terminal, Style::plain);
}

// The lines that allocated most of the memory, if that is not the creation site alone.
void add_memory(std::string& out, analyzer::OpenedDump& opened, const LeakFinding& finding, const Terminal& terminal) {
  constexpr size_t kMax = 3;
  const char* label = "allocated at";
  uint64_t rest = 0;
  for (size_t i = 0; i < finding.memory.size(); ++i) {
    const analyzer::CreationSite& made = finding.memory[i];
    if (i >= kMax) {
      rest += made.bytes;
      continue;
    }
    const std::string text = fmt::format("{}: {}", opened.places.at(made.site).where, text::bytes(made.bytes));
    add_labelled(out, std::exchange(label, ""), text, terminal, Style::plain);
  }
  if (rest > 0) add_labelled(out, "", "other lines: " + text::bytes(rest), terminal, Style::plain);
}

std::string answer_text(const LeakFinding& finding, size_t number, const std::string& first_dump,
                        const Terminal& terminal) {
  const std::string headline = text::clean(text::finding_headline(finding, first_dump));
  return text::wrap(fmt::format("{}  {}", number, headline), terminal.width, 3);
}

std::string finding_text(analyzer::OpenedDump& opened, const LeakFinding& finding, size_t number,
                         const std::string& first_dump, const Terminal& terminal) {
  std::string out = terminal.styled(Style::bad, answer_text(finding, number, first_dump, terminal)) + "\n";
  add_labelled(out, "finding", text::title(finding.kind), terminal, Style::plain);
  add_labelled(out, "each interval", intervals_text(finding), terminal, Style::plain);
  if (finding.kind == LeakKind::graph_cycle)
    add_labelled(out, "cycle", text::holder_phrase(finding), terminal, Style::plain);
  if (finding.site != 0) add_creation(out, opened, finding.site, terminal);
  if (finding.of_children && !finding.of_children->place.where.empty()) {
    const analyzer::OfChildren& there = *finding.of_children;
    const std::string source = there.source.empty() ? "" : ": " + there.source;
    add_labelled(out, "created at", there.place.where + source, terminal, Style::plain);
  }
  add_memory(out, opened, finding, terminal);
  const char* label = "evidence";
  for (const Fact& fact : finding.evidence) {
    add_labelled(out, std::exchange(label, ""), fact_text(fact), terminal, Style::dim);
  }
  add_labelled(out, "what to do", text::advice_phrase(finding), terminal, Style::plain);
  return out;
}

std::vector<std::string> held_lines(const GrownPlace& grown) {
  std::vector<HolderShare> shares;
  for (const analyzer::HeldShare& share : grown.held) {
    const bool says_how = share.holder.starts_with("saved by ") || share.holder == "C++ only";
    shares.push_back({(says_how ? "" : "held by ") + share.holder, share.bytes});
  }
  return holder_lines(shares);
}

// What grew between the dumps and did not pile up, with who holds it.
std::string unclear_text(analyzer::OpenedDump& opened, const Leaks& leaks, const Terminal& terminal) {
  constexpr size_t kWhere = 2;
  text::Table table({{.title = "bytes", .align = text::Align::right},
                     {.title = "count", .align = text::Align::right},
                     {.title = "where", .least = 24, .cut = text::Cut::start},
                     {.title = "", .least = 12, .style = Style::dim}});
  for (const GrownPlace& grown : leaks.unclear) {
    const Growth& growth = grown.place.growth;
    table.row({text::signed_bytes(growth.added_bytes()), text::signed_count(growth.added()), grown.place.label,
               opened.places.source_line(grown.place.site)});
    for (const std::string& line : held_lines(grown)) table.note(kWhere, line, Style::dim, text::Cut::middle);
  }
  return "\n" +
         text::wrap(
             std::string("what grew, all of it made in one part of the time: a cache that was filled, a batch, ") +
                 (leaks.at_ends.known ? "" : "another phase of the step, ") + "or a leak that has just begun. A " +
                 (leaks.dumps == 2 ? "third" : "later") + " dump decides: what leaks has grown again by then",
             terminal.width, 2) +
         "\n" + table.text(terminal);
}

std::string places_text(analyzer::OpenedDump& opened, const Leaks& leaks, size_t top, const Terminal& terminal) {
  constexpr size_t kWhere = 4;
  text::Table table({{.title = "bytes", .align = text::Align::right},
                     {.title = "each interval"},
                     {.title = "count", .align = text::Align::right},
                     {.title = "each interval"},
                     {.title = "where", .least = 24, .cut = text::Cut::start},
                     {.title = "", .least = 12, .style = Style::dim}});
  constexpr int kRoomy = 100;  // where a line is shorter, the intervals stand below the place
  const bool several = leaks.dumps > 2, narrow = terminal.width > 0 && terminal.width < kRoomy;
  for (size_t i = 0; i < leaks.places.size() && (top == 0 || i < top); ++i) {
    const GrownPlace& grown = leaks.places[i];
    const Growth& growth = grown.place.growth;
    const std::string bytes = several ? steps(growth.bytes, text::signed_bytes) : "";
    const std::string counts = several ? steps(growth.count, text::signed_count) : "";
    table.row({text::signed_bytes(growth.added_bytes()), narrow ? "" : bytes, text::signed_count(growth.added()),
               narrow ? "" : counts, grown.place.label, opened.places.source_line(grown.place.site)},
              grown.finding == analyzer::kNone && grown.counts ? Style::bad : Style::plain);
    if (narrow && several) table.note(kWhere, fmt::format("{}, {}", bytes, counts));
    if (grown.finding != analyzer::kNone) {
      table.note(kWhere, fmt::format("see finding {}", grown.finding + 1));
      continue;
    }
    for (const std::string& line : held_lines(grown)) table.note(kWhere, line, Style::dim, text::Cut::middle);
    if (!grown.memory_at.empty()) {
      table.note(kWhere, "aliases of memory that was allocated at " + grown.memory_at);
    } else {
      const bool says_why = grown.counts || grown.larger_input || grown.slows || grown.remarked;
      table.note(kWhere, says_why ? text::advice_phrase(grown) : "below the threshold of a finding (64 KiB)");
    }
  }
  return table.text(terminal);
}

std::string title_text(analyzer::ComparedDumps& dumps) {
  std::string title;
  for (size_t i = 0; i < dumps.size(); ++i) title += (i == 0 ? "" : " -> ") + dumps[i].dump.path;
  if (dumps.size() == 1) return title + ": one dump; growth needs two or more";
  const uint64_t time = dumps.last().dump.process.dump_ns - dumps.first().dump.process.dump_ns;
  return fmt::format("{}: same run, {} later, {}", title, text::duration(time),
                     text::counted(dumps.size() - 1, "interval"));
}

constexpr int64_t kMinRunning = 64 << 10;  // less than a finding's growth needs no words

// " (+25.2 MiB: findings +25.7 MiB, the running step +1.0 MiB, the rest -1.5 MiB)"
std::string shares_text(const analyzer::GrowthShares& growth) {
  constexpr int64_t kOf = 100;
  const std::string all = " (" + text::signed_bytes(growth.all);
  const bool findings_alone = growth.remarks == 0 && std::abs(growth.running) < kMinRunning;
  if (findings_alone && std::abs(growth.rest()) * kOf < growth.all) return all + ", all of it in findings)";
  const std::string remarks = growth.remarks == 0 ? "" : ", remarks " + text::signed_bytes(growth.remarks);
  const std::string running =
      std::abs(growth.running) < kMinRunning ? "" : ", the running step " + text::signed_bytes(growth.running);
  return fmt::format("{}: findings {}{}{}, the rest {})", all, text::signed_bytes(growth.findings), remarks, running,
                     text::signed_bytes(growth.rest()));
}

// Where in a step the dumps were taken, if that changes what their live bytes say. "At the ends of steps live bytes
// grew by 1.9 MiB from step 20 to 52 (64.0 KiB a step): ..."
std::string ends_text(const Leaks& leaks) {
  const analyzer::GrowthAtEnds& ends = leaks.at_ends;
  if (!ends.known || std::abs(ends.running()) < kMinRunning) return "";
  std::string text = "The dumps were taken at different places in a step: ";
  if (ends.last_step == ends.first_step) {
    text +=
        fmt::format("no step ended between them. Live bytes since the end of step {}: ", text::count(ends.last_step));
  } else {
    const std::string how = ends.bytes() == 0  ? "did not change"
                            : ends.bytes() < 0 ? "became less by " + text::bytes(uint64_t(-ends.bytes()))
                                               : "grew by " + text::bytes(uint64_t(ends.bytes()));
    text += fmt::format("at the ends of steps live bytes {} from step {} to {}", how, text::count(ends.first_step),
                        text::count(ends.last_step));
    if (const int64_t each = ends.bytes_each_step(); each > 0)
      text += fmt::format(" ({} a step)", text::bytes(uint64_t(each)));
    text += ". Live bytes since then: ";
  }
  return text + text::signed_bytes(ends.before_first) + " in the first dump, " + text::signed_bytes(ends.before_last) +
         " in the last.";
}

bool only_the_running_step(const Leaks& leaks) {
  return leaks.growth.all >= kMinRunning && leaks.growth.running >= kMinRunning && leaks.growth.rest() < kMinRunning;
}

std::string process_summary(const analyzer::ProcessGrowth& process) {
  const std::vector<uint64_t>& resident = process.parts.front().values;
  return "no tensor leak found, but the process grew: resident memory " + text::bytes(resident.front()) + " -> " +
         text::bytes(resident.back());
}

// What came is said in any case: in tensors, of the running step alone, or outside of tensors.
std::string summary_without_findings(const Leaks& leaks) {
  const bool grew = !leaks.unclear.empty() || only_the_running_step(leaks);
  if (leaks.process.told && !grew) return process_summary(leaks.process);
  if (!leaks.remarks.empty()) return "no leak found: what grew is said below, with the reason";
  if (std::ranges::any_of(leaks.places, &GrownPlace::slows))
    return "no leak found: what grew in every interval grows by less and less";
  if (leaks.dumps > 1 && !leaks.suspects.empty()) {
    return "no finding, but " + text::counted(leaks.suspects.size(), "suspect") +
           ": of the dumps one alone knows holders";
  }
  const std::string all = text::bytes(uint64_t(std::abs(leaks.growth.all)));
  if (!leaks.unclear.empty() && leaks.growth.all <= 0) {
    return "no leak found, but live bytes grew by " + text::bytes(uint64_t(leaks.growth.rest())) +
           " without the running step: a later dump shows whether that goes on";
  }
  if (!leaks.unclear.empty())
    return "no leak found, but live bytes grew by " + all + ": a later dump shows whether that goes on";
  if (only_the_running_step(leaks))
    return "no leak found: live bytes grew by " + all + ", but only since the last step ended";
  if (leaks.process.steady) return "no tensor leak found, but memory outside of tensors grew in every interval";
  if (leaks.dumps > 1) return "no leak found: nothing grew in every interval";
  return leaks.suspects.empty() ? "no leak found that one dump can show"
                                : "no finding in one dump, but " + text::counted(leaks.suspects.size(), "suspect");
}

std::string summary_text(const Leaks& leaks) {
  const auto unexplained = size_t(std::count_if(leaks.places.begin(), leaks.places.end(), [](const GrownPlace& grown) {
    return grown.counts && grown.finding == analyzer::kNone;
  }));
  std::string text;
  if (!leaks.findings.empty()) text = text::counted(leaks.findings.size(), "finding");
  if (unexplained > 0) {
    text += (text.empty() ? "" : ", ") +
            text::counted(unexplained, text.empty() ? "growing allocation site" : "other growing allocation site");
  }
  if (text.empty()) return summary_without_findings(leaks);
  if (leaks.dumps == 1) return text;
  std::string live;
  for (uint64_t bytes : leaks.bytes) live += (live.empty() ? "" : " -> ") + text::bytes(bytes);
  return text + "; live bytes " + live + shares_text(leaks.growth);
}

// Memory outside tensors: what grew, also where it is no finding.
std::string process_text(const Leaks& leaks, const Terminal& terminal) {
  const bool a_finding = std::any_of(leaks.findings.begin(), leaks.findings.end(), [](const LeakFinding& finding) {
    return finding.kind == LeakKind::process_memory || finding.kind == LeakKind::child_processes;
  });
  if (!(leaks.process.told || leaks.process.steady) || a_finding) return "";
  text::Table table({{.title = "growth", .align = text::Align::right}, {.title = "each dump"}, {.title = "what"}});
  const int64_t kMinShown = leaks.process.told ? 1 << 20 : 64 << 10;
  for (const Fact& part : leaks.process.parts) {
    if (part.values.empty()) continue;
    const auto growth = int64_t(part.values.back() - part.values.front());
    if (std::abs(growth) < kMinShown) continue;
    table.row({text::signed_bytes(growth), values_text(part), text::fact_phrase(part)});
  }
  std::string out = "\n" + text::wrap("memory of the process", terminal.width, 2) + "\n" + table.text(terminal);
  add_labelled(out, "what to do", text::process_advice(leaks), terminal, Style::plain);
  return out;
}

// One dump says how much there is, not what of it grows, nor what holds it.
std::string outside_text(const Leaks& leaks) {
  constexpr size_t kMaxParts = 3;
  constexpr uint64_t kMinShown = 1 << 20;
  if (leaks.dumps > 1 || leaks.process.parts.empty()) return "";
  std::string parts;
  size_t shown = 0;
  for (const Fact& part : leaks.process.parts) {
    using analyzer::FactKind;
    const bool seen =
        part.kind == FactKind::resident || part.kind == FactKind::cpu_tensors || part.kind == FactKind::profiler;
    if (seen || part.values.empty() || part.values.back() < kMinShown || shown == kMaxParts) continue;
    parts += (shown++ == 0 ? "" : ", ") + text::bytes(part.values.back()) + " " + text::fact_phrase(part);
  }
  if (shown == 0) return "";
  return "Not examined in one dump: memory outside tensors, such as numpy arrays (" + parts +
         "). Two dumps show whether it grows.";
}

// Without these a finding may be missing, not absent.
std::string gaps_of(const analyzer::Dump& dump) {
  const bool python = !dump.process.python_version.empty();
  std::string text;
  if (python && !dump.references.present) {
    text = "References were not recorded: growth is known by allocation site only.";
  } else if (python && !dump.references.complete) {
    text = "References are incomplete: " + dump.references.detail + ".";
  }
  if (dump.graph.whole()) return text;
  if (!text.empty()) text += " ";
  if (!dump.graph.present) return text + "The autograd graph was not recorded.";
  return text + "The autograd graph is incomplete" + (dump.graph.detail.empty() ? "." : ": " + dump.graph.detail + ".");
}

}  // namespace

std::string leaks_text(analyzer::ComparedDumps& dumps, const Leaks& leaks, size_t top, const Terminal& terminal) {
  analyzer::OpenedDump& last = dumps.last();
  const std::string first_dump = std::filesystem::path(dumps.first().dump.path).filename().string();
  std::string out = terminal.styled(Style::bold, text::wrap(text::clean(title_text(dumps)), terminal.width, 2)) + "\n";
  out += terminal.styled(leaks.found() ? Style::bad : Style::good, text::wrap(summary_text(leaks), terminal.width, 2)) +
         "\n";
  if (leaks.weak) {
    out += text::wrap("Weak evidence: two dumps show one interval only. Compare three dumps to confirm growth.",
                      terminal.width, 2) +
           "\n";
  }
  const std::string run = growth_of_run(leaks, last.dump), replaced = replaced_text(leaks.replaced);
  if (!run.empty()) out += text::wrap(text::clean(run), terminal.width, 2) + "\n";
  if (!replaced.empty()) out += text::wrap(text::clean(replaced), terminal.width, 2) + "\n";
  const std::string ends = ends_text(leaks);
  if (!ends.empty()) out += text::wrap(ends, terminal.width, 2) + "\n";
  const std::string gaps = text::clean(gaps_text(dumps));
  if (!gaps.empty()) out += text::wrap(gaps, terminal.width, 2) + "\n";
  const std::string outside = outside_text(leaks);
  if (!outside.empty()) out += text::wrap(outside, terminal.width, 2) + "\n";
  const std::string passing = passing_cycles_text(leaks);
  if (!passing.empty()) out += text::wrap(text::clean(passing), terminal.width, 2) + "\n";
  for (const analyzer::Remark& remark : leaks.remarks)
    out += text::wrap(text::clean(remark_text(remark, first_dump)), terminal.width, 2) + "\n";
  for (size_t i = 0; i < leaks.findings.size(); ++i)
    out += "\n" + finding_text(last, leaks.findings[i], i + 1, first_dump, terminal);
  if (!leaks.suspects.empty()) {
    out += "\n" + text::wrap(suspects_heading(leaks.suspects, top), terminal.width, 2) + "\n" +
           suspects_table(last, leaks.suspects, top, terminal);
  }
  if (!leaks.unclear.empty()) out += unclear_text(last, leaks, terminal);
  out += process_text(leaks, terminal);
  if (leaks.places.empty()) return out;
  std::string heading = "allocation sites that grew in every interval";
  if (top != 0 && leaks.places.size() > top) {
    heading += fmt::format(" (showing {} of {}; --top N)", top, leaks.places.size());
  }
  out += "\n" + text::wrap(heading, terminal.width, 2);
  return out + "\n" + places_text(last, leaks, top, terminal);
}

std::string leaks_answer(const analyzer::ComparedDumps& dumps, const Leaks& leaks, const Terminal& terminal) {
  const std::string first_dump = std::filesystem::path(dumps[0].dump.path).filename().string();
  std::string out = text::wrap(summary_text(leaks), terminal.width, 2) + "\n";
  for (size_t i = 0; i < leaks.findings.size(); ++i) {
    out += answer_text(leaks.findings[i], i + 1, first_dump, terminal) + "\n";
  }
  return out;
}

std::string gaps_text(const analyzer::ComparedDumps& dumps) {
  const std::string last = gaps_of(dumps[dumps.size() - 1].dump);
  std::string text = last;
  for (size_t i = 0; i + 1 < dumps.size(); ++i) {
    const std::string earlier = gaps_of(dumps[i].dump);
    if (earlier.empty() || earlier == last) continue;
    text += (text.empty() ? "" : " ") + ("In " + dumps[i].dump.path + ": ") + earlier;
  }
  return text;
}

std::string passing_cycles_text(const Leaks& leaks) {
  if (!leaks.passing_cycles) return "";
  return text::bytes(leaks.passing_cycles->bytes) + " held by " + text::holder_phrase(*leaks.passing_cycles) +
         ": no finding, Python's garbage collector frees such cycles here.";
}

namespace {

// A chain of exceptions is as long as the program ran: of each name the root and the end stay.
std::string shortened(const std::string& names) {
  constexpr int kMaxName = 120;
  std::string text;
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find("; ", at), names.size());
    text += (at > 0 ? "; " : "") + text::cut(std::string_view(names).substr(at, end - at), kMaxName, text::Cut::middle);
    at = end + 2;
  }
  return text;
}

std::string short_holder(const LeakFinding& finding) {
  LeakFinding shown;
  shown.kind = finding.kind;
  shown.advice = finding.advice;
  shown.pairs = finding.pairs;
  shown.cycle = finding.cycle;
  for (const std::string& holder : finding.holders) shown.holders.push_back(shortened(holder));
  return text::holder_phrase(shown);
}

std::string first_of_children(const analyzer::OfChildren& children) {
  return children.processes.size() > 1 ? "their first dumps"
                                       : std::filesystem::path(children.first).filename().string();
}

// What the same holder has outside of tensors.
std::string outside_too(const LeakFinding& finding) {
  const auto found = std::ranges::find(finding.evidence, FactKind::outside_growth, &Fact::kind);
  if (found == finding.evidence.end()) return "";
  const auto grew = int64_t(found->values.back() - std::min(found->values.front(), found->values.back()));
  return fmt::format(", and {} outside of tensors", text::signed_bytes(grew));
}

}  // namespace

std::string finding_headline(const LeakFinding& finding, const std::string& first_of_all) {
  const Growth& growth = finding.growth;
  const std::string first_dump = finding.of_children ? first_of_children(*finding.of_children) : first_of_all;
  const bool nodes = finding.kind == LeakKind::graph_nodes;
  const bool outside = finding.kind == LeakKind::process_memory || finding.kind == LeakKind::child_processes;
  if (outside) {
    const std::string there = finding.of_children ? " in " + child_processes_phrase(*finding.of_children) : "";
    // Where nobody is known to have it, what there is now is all that malloc gave the process.
    const bool known = finding.counts == LeakFinding::Counts::entries || finding.kind == LeakKind::child_processes;
    const std::string now = known ? "; " + text::bytes(finding.bytes) + " now" : "";
    return fmt::format("{} held by {}{}, since {}{}", text::signed_bytes(growth.added_bytes()),
                       text::holder_phrase(finding), there, first_dump, now);
  }
  std::string text = nodes ? text::count(growth.count.back()) + " graph nodes" : text::bytes(finding.bytes);
  switch (finding.kind) {
    case LeakKind::two_dtypes:
      text += " in copies: " + short_holder(finding);
      break;
    case LeakKind::graph_cycle:
      text += " held by a reference cycle through the autograd graph";
      break;
    default:
      text += " held by " + short_holder(finding);
  }
  if (finding.of_children) text += " in " + child_processes_phrase(*finding.of_children);
  if (growth.bytes.size() < 2 || (same(growth.bytes) && same(growth.count))) return text;
  if (about_bytes(finding)) {
    return fmt::format("{}, {}{} since {}", text, text::signed_bytes(growth.added_bytes()), outside_too(finding),
                       first_dump);
  }
  const std::string counts = nodes ? "" : std::string(" ") + text::counts_phrase(finding.counts);
  return fmt::format("{}, {}{} since {}", text, text::signed_count(growth.added()), counts, first_dump);
}

std::string left_out_line(const analyzer::ExcludedDump& left_out) {
  std::string why;
  switch (left_out.why) {
    case analyzer::ExcludedDump::Reason::no_names:
      why = "it has no tensor names" + (left_out.detail.empty() ? "" : ": " + left_out.detail);
      break;
    case analyzer::ExcludedDump::Reason::moment:
      why = "a moment of a recording knows no holders, and two dumps do";
      break;
    case analyzer::ExcludedDump::Reason::functions_had_returned:
      why = "it was written at exit, after the functions whose variables held tensors had returned";
      break;
  }
  return left_out.path + " is left out: " + why + ".";
}

}  // namespace tensorscope::text
