#include "commands/leaks_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "render/table.h"
#include "render/text.h"
#include "render/units.h"

namespace tensorscope::commands {

namespace {

using model::Fact;
using model::GrownPlace;
using model::Growth;
using model::LeakFinding;
using model::LeakKind;
using model::Leaks;
using render::Style;
using render::Terminal;

// "+2.0 MiB +2.1 MiB"
std::string steps(const std::vector<uint64_t>& values, std::string (*words)(int64_t)) {
  std::string text;
  for (size_t i = 1; i < values.size(); ++i) text += (i > 1 ? " " : "") + words(int64_t(values[i] - values[i - 1]));
  return text;
}

bool same(const std::vector<uint64_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](uint64_t value) { return value == values.front(); });
}

std::string fact_text(const Fact& fact) {
  std::string values;
  for (uint64_t value : fact.values) {
    values += (values.empty() ? "" : " -> ") + (fact.bytes ? render::bytes(value) : render::count(value));
  }
  return values.empty() ? fact.what : fact.what + ": " + values;
}

// Where a finding that is not about growth stands, or what it adds in each interval and has by now.
std::string amount_text(const LeakFinding& finding) {
  const Growth& growth = finding.growth;
  const std::string now = render::bytes(finding.bytes);
  if (growth.bytes.size() < 2 || (same(growth.bytes) && same(growth.count))) return now;
  const bool bytes = !same(growth.bytes) && finding.kind != LeakKind::graph_nodes;
  const std::string each = bytes ? steps(growth.bytes, render::signed_bytes)
                                 : steps(growth.count, render::signed_count) + " " + finding.counts;
  return fmt::format("{} {}, {} now", each, growth.bytes.size() > 2 ? "in the intervals" : "in between", now);
}

constexpr int kLabelled = 13;  // where the text behind a label begins

// A path that is longer than the line loses its beginning.
std::string place_text(OpenedDump& opened, uint32_t site, const Terminal& terminal) {
  const std::string source = opened.places.source_line(site);
  std::string where = render::clean(opened.places.at(site).where);
  if (terminal.width > 0) where = render::cut(where, std::max(24, terminal.width - kLabelled - 1), render::Cut::start);
  return source.empty() ? where : where + ": " + source;
}

void add_labelled(std::string& out, const char* label, const std::string& text, const Terminal& terminal, Style style) {
  if (text.empty()) return;
  std::string line = render::wrap(fmt::format("   {:<10}{}", label, render::clean(text)), terminal.width, kLabelled);
  out += terminal.styled(style, line) + "\n";
}

// Where most of what is kept was made, if not all of it was made where the finding says.
std::string memory_text(OpenedDump& opened, const LeakFinding& finding) {
  constexpr size_t kMost = 3;
  std::string text;
  uint64_t rest = 0;
  for (size_t i = 0; i < finding.memory.size(); ++i) {
    const model::MadeAt& made = finding.memory[i];
    if (i >= kMost) {
      rest += made.bytes;
      continue;
    }
    text += (i == 0 ? "" : ", ") +
            fmt::format("{} made at {}", render::bytes(made.bytes), opened.places.at(made.site).where);
  }
  if (rest > 0) text += fmt::format(", {} elsewhere", render::bytes(rest));
  return text;
}

std::string finding_text(OpenedDump& opened, const LeakFinding& finding, size_t number, const Terminal& terminal) {
  std::string title = fmt::format("{}  {}: {}", number, model::title(finding.kind), amount_text(finding));
  std::string out = terminal.styled(Style::bad, render::wrap(title, terminal.width, 3)) + "\n";
  add_labelled(out, "held by", finding.subject, terminal, Style::plain);
  if (finding.site != 0)
    add_labelled(out, "made at", place_text(opened, finding.site, terminal), terminal, Style::plain);
  add_labelled(out, "memory", memory_text(opened, finding), terminal, Style::plain);
  add_labelled(out, "look at", finding.look_at, terminal, Style::plain);
  std::string evidence;
  for (const Fact& fact : finding.evidence) evidence += (evidence.empty() ? "" : "; ") + fact_text(fact);
  add_labelled(out, "evidence", evidence, terminal, Style::dim);
  return out;
}

// One holder alone, or the largest ones with what each of them has.
std::vector<std::string> held_lines(const GrownPlace& grown) {
  constexpr size_t kMost = 3;
  std::vector<std::string> lines;
  uint64_t rest = 0;
  for (const model::HeldShare& share : grown.held) {
    const bool empty = grown.held.front().bytes == 0;
    if (lines.size() == kMost || (!lines.empty() && empty)) {
      rest += share.bytes;
      continue;
    }
    const bool says_how = share.holder.starts_with("saved by ") || share.holder == "C++ only";
    lines.push_back((says_how ? "" : "held by ") + share.holder);
    if (grown.held.size() > 1 && !empty) lines.back() += ", " + render::bytes(share.bytes);
  }
  if (const size_t others = grown.held.size() - lines.size(); others > 0) {
    lines.back() += "; " + render::counted(others, "other holder");
    if (rest > 0) lines.back() += ", " + render::bytes(rest);
  }
  return lines;
}

std::string places_text(OpenedDump& opened, const Leaks& leaks, size_t top, const Terminal& terminal) {
  constexpr size_t kWhere = 4;
  render::Table table({{.title = "bytes", .align = render::Align::right},
                       {.title = "each interval"},
                       {.title = "count", .align = render::Align::right},
                       {.title = "each interval"},
                       {.title = "where", .least = 24, .cut = render::Cut::start},
                       {.title = "", .least = 12, .style = Style::dim}});
  constexpr int kRoomy = 100;  // where a line is shorter, the intervals stand below the place
  const bool several = leaks.dumps > 2, narrow = terminal.width > 0 && terminal.width < kRoomy;
  for (size_t i = 0; i < leaks.places.size() && (top == 0 || i < top); ++i) {
    const GrownPlace& grown = leaks.places[i];
    const Growth& growth = grown.place.growth;
    const std::string bytes = several ? steps(growth.bytes, render::signed_bytes) : "";
    const std::string counts = several ? steps(growth.count, render::signed_count) : "";
    table.row({render::signed_bytes(growth.added_bytes()), narrow ? "" : bytes, render::signed_count(growth.added()),
               narrow ? "" : counts, grown.place.label, opened.places.source_line(grown.place.site)},
              grown.finding == model::kNone && grown.counts ? Style::bad : Style::plain);
    if (narrow && several) table.note(kWhere, fmt::format("{}, {}", bytes, counts));
    if (grown.finding != model::kNone) {
      table.note(kWhere, fmt::format("explained by {}", grown.finding + 1));
      continue;
    }
    for (const std::string& line : held_lines(grown)) table.note(kWhere, line, Style::dim, render::Cut::middle);
    if (!grown.memory_at.empty()) {
      table.note(kWhere, "no memory of their own: theirs was made at " + grown.memory_at);
    } else {
      table.note(kWhere, grown.counts ? grown.look_at : "too little to be called a leak");
    }
  }
  return table.text(terminal);
}

std::string title_text(ComparedDumps& dumps) {
  std::string title;
  for (size_t i = 0; i < dumps.size(); ++i) title += (i == 0 ? "" : " -> ") + dumps[i].dump.path;
  if (dumps.size() == 1) return title + ": one dump, so nothing is said about growth";
  const uint64_t time = dumps.last().dump.process.dump_ns - dumps.first().dump.process.dump_ns;
  return fmt::format("{}: same run, {} later, {}", title, render::duration(time),
                     render::counted(dumps.size() - 1, "interval"));
}

std::string summary_text(const Leaks& leaks) {
  const auto unexplained = size_t(std::count_if(leaks.places.begin(), leaks.places.end(), [](const GrownPlace& grown) {
    return grown.counts && grown.finding == model::kNone;
  }));
  std::string text;
  if (!leaks.findings.empty()) text = render::counted(leaks.findings.size(), "finding");
  if (unexplained > 0) {
    text += (text.empty() ? "" : ", ") + render::counted(unexplained, "place") + " that " +
            (unexplained == 1 ? "grows" : "grow") + (text.empty() ? "" : " besides");
  }
  if (text.empty() && leaks.process.told) {
    const std::vector<uint64_t>& resident = leaks.process.parts.front().values;
    return "no leak of tensors found, but the process grew: resident " + render::bytes(resident.front()) + " -> " +
           render::bytes(resident.back()) + ", see below";
  }
  if (text.empty()) {
    return leaks.dumps == 1 ? "no leak found among those that one dump can show"
                            : "no leak found: nothing piles up in every interval";
  }
  if (leaks.dumps == 1) return text;
  std::string live;
  for (uint64_t bytes : leaks.bytes) live += (live.empty() ? "" : " -> ") + render::bytes(bytes);
  return text + ". Live bytes " + live;
}

// Memory outside tensors: what grew, also where it is no finding.
std::string process_text(const Leaks& leaks, const Terminal& terminal) {
  const bool a_finding = std::any_of(leaks.findings.begin(), leaks.findings.end(), [](const LeakFinding& finding) {
    return finding.kind == LeakKind::process_memory;
  });
  if (!leaks.process.told || a_finding) return "";
  render::Table table({{.title = "growth", .align = render::Align::right}, {.title = "each dump"}, {.title = "what"}});
  constexpr int64_t kLeastShown = 1 << 20;
  for (const Fact& part : leaks.process.parts) {
    if (part.values.empty()) continue;
    const auto growth = int64_t(part.values.back() - part.values.front());
    if (std::abs(growth) < kLeastShown) continue;
    std::string values;
    for (uint64_t value : part.values) values += (values.empty() ? "" : " -> ") + render::bytes(value);
    table.row({render::signed_bytes(growth), values, part.what});
  }
  std::string out = "\n" + render::wrap("memory of the process", terminal.width, 2) + "\n" + table.text(terminal);
  add_labelled(out, "look at", leaks.process.look_at, terminal, Style::plain);
  return out;
}

// Without these a finding may be missing, not absent.
std::string gaps_text(const ComparedDumps& dumps, OpenedDump& last) {
  const model::Dump& dump = last.dump;
  if (dump.process.python_version.empty()) return "";
  if (!dump.references.present) return "Who holds what was not recorded: only growth by place is known.";
  if (!dump.references.complete) return "Not all holders are known: " + dump.references.detail + ".";
  if (dumps.size() > 1 && !dump.graph.present) return "The autograd graph was not recorded.";
  return "";
}

}  // namespace

std::string leaks_text(ComparedDumps& dumps, const Leaks& leaks, size_t top, const Terminal& terminal) {
  OpenedDump& last = dumps.last();
  std::string out =
      terminal.styled(Style::bold, render::wrap(render::clean(title_text(dumps)), terminal.width, 2)) + "\n";
  out +=
      terminal.styled(leaks.found() ? Style::bad : Style::good, render::wrap(summary_text(leaks), terminal.width, 2)) +
      "\n";
  if (leaks.weak) {
    out += render::wrap("Two dumps show one interval, which is weak evidence for growth: a third dump would tell.",
                        terminal.width, 2) +
           "\n";
  }
  const std::string gaps = render::clean(gaps_text(dumps, last));
  if (!gaps.empty()) out += render::wrap(gaps, terminal.width, 2) + "\n";
  for (size_t i = 0; i < leaks.findings.size(); ++i)
    out += "\n" + finding_text(last, leaks.findings[i], i + 1, terminal);
  out += process_text(leaks, terminal);
  if (leaks.places.empty()) return out;
  std::string heading = "places that grew in every interval";
  if (top != 0 && leaks.places.size() > top) {
    heading += fmt::format(" (showing {} of {}; --top N)", top, leaks.places.size());
  }
  out += "\n" + render::wrap(heading, terminal.width, 2);
  return out + "\n" + places_text(last, leaks, top, terminal);
}

}  // namespace tensorscope::commands
