// SPDX-License-Identifier: Apache-2.0
#include "text/leaks/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dump_generated.h"
#include "text/dump/history.h"
#include "text/table.h"
#include "text/text.h"
#include "text/units.h"
#include "text/values/phrases.h"

namespace tensorscope::text {

namespace {

using analyzer::Suspect;

// "in 30 of 60 steps (optimizer steps)", "at 30 different times or more".
std::string generations_words(const Suspect& suspect, const analyzer::Steps& steps) {
  std::string text;
  if (suspect.steps < suspect.generations)
    text = fmt::format("at {} different times or more", count(suspect.generations));
  if (suspect.steps == 0) return text;
  return text + fmt::format("{}in {}{} of {} ({})", text.empty() ? "" : ", ", count(suspect.steps),
                            steps.every > 1 ? " or more" : "", counted(suspect.of_steps, "step"),
                            step_source_phrase(format::StepSource(steps.source)));
}

// "30 tensors, created in 30 of 60 steps (backward passes), 12 s to 0.4 s ago"
std::string times_words(const Suspect& suspect, const analyzer::Steps& steps) {
  if (suspect.kind == Suspect::Kind::larger) {
    return fmt::format("allocated {} times, larger than before: replaced by a larger one each time?",
                       count(suspect.generations));
  }
  const char* things = suspect.kind == Suspect::Kind::graph  ? "graph node"
                       : suspect.kind == Suspect::Kind::site ? "allocation"
                                                             : "tensor";
  const std::string oldest = duration(suspect.oldest_ns), newest = duration(suspect.newest_ns);
  return fmt::format("{}, created {}, {} ago", counted(suspect.count, things), generations_words(suspect, steps),
                     oldest == newest ? oldest : oldest + " to " + newest);
}

std::string kept_words(const Suspect& suspect) {
  if (suspect.kind == Suspect::Kind::larger || suspect.made == 0) return "";
  return fmt::format("{} of {} that were ever allocated there are alive{}", count(suspect.kept), count(suspect.made),
                     suspect.from_the_first ? ", at even intervals since the first" : "");
}

// "416.0 KiB a step, 98 % of what memory grew by"
std::string each_step_words(const Suspect& suspect) {
  const uint64_t each = bytes_each_step(suspect);
  if (each == 0) return "";
  const std::string text = bytes(each) + " a step";
  if (suspect.share <= 0) return text;
  constexpr double kWhole = 1000;
  const auto part = uint64_t(std::llround(std::min(suspect.share, 1.0) * kWhole));
  return fmt::format("{}, {} of what memory grew by over the run", text, percent(part, uint64_t(kWhole)));
}

}  // namespace

std::string growth_of_run(const analyzer::Leaks& leaks, const analyzer::Dump& last) {
  const bool examined = leaks.dumps == 1 || (!leaks.found() && leaks.trend.grew());
  if (!examined || leaks.trend.growth.kind == analyzer::GrowthKind::unknown) return "";
  std::string text = growth_sentence(last) + ".";
  constexpr double kHalf = 0.5;
  const bool by_suspects = leaks.dumps == 1 && leaks.findings.empty() && leaks.trend.growth.by_step;
  const double unexplained = analyzer::unexplained_share(leaks.trend, leaks.suspects);
  if (!by_suspects || unexplained <= kHalf) return text;
  const auto rest = uint64_t(std::llround(leaks.trend.growth.bytes_each * unexplained));
  return fmt::format("{} {} a step of that is in no suspect; two dumps some steps apart show where.", text,
                     bytes(rest));
}

std::string replaced_text(const std::vector<Suspect>& replaced) {
  constexpr size_t kMax = 3;
  std::string names;
  for (size_t i = 0; i < replaced.size() && i < kMax; ++i) {
    const std::string& holder = replaced[i].holder;
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", holder.empty() ? "nothing that is known" : holder,
                         bytes(replaced[i].bytes));
  }
  if (replaced.size() > kMax) names += fmt::format(" and {} more", replaced.size() - kMax);
  return names.empty() ? ""
                       : "No suspect: " + names +
                             ". It was filled at many times, but live memory did not grow "
                             "meanwhile: as much was freed.";
}

std::string suspects_heading(const std::vector<Suspect>& suspects, size_t top) {
  std::string heading =
      "suspects: filled at many times, hardly ever emptied; two dumps some steps apart show whether they grow";
  if (top != 0 && suspects.size() > top) heading += fmt::format(" (showing {} of {}; --top N)", top, suspects.size());
  return heading;
}

std::string suspects_table(analyzer::OpenedDump& opened, const std::vector<Suspect>& suspects, size_t top,
                           const Terminal& terminal) {
  constexpr size_t kHeld = 2;
  Table table({{.title = "", .align = Align::right},
               {.title = "retained", .align = Align::right},
               {.title = "held by", .least = 24, .cut = Cut::middle}});
  for (size_t i = 0; i < suspects.size() && (top == 0 || i < top); ++i) {
    const Suspect& suspect = suspects[i];
    table.row({count(i + 1), bytes(suspect.bytes), suspect.holder.empty() ? "nothing that is known" : suspect.holder});
    table.note(kHeld, times_words(suspect, opened.dump.steps));
    if (const std::string each = each_step_words(suspect); !each.empty()) table.note(kHeld, each);
    if (const std::string kept = kept_words(suspect); !kept.empty()) table.note(kHeld, kept);
    if (suspect.site == 0) continue;
    const std::string source = opened.places.source_line(suspect.site);
    const std::string& where = opened.places.at(suspect.site).where;
    table.note(kHeld, "allocated at " + (source.empty() ? where : where + ": " + source), Style::dim, Cut::middle);
  }
  return table.text(terminal);
}

}  // namespace tensorscope::text
