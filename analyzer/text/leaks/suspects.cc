// SPDX-License-Identifier: Apache-2.0
#include "text/leaks/suspects.h"

#include <fmt/format.h>

#include "dump_generated.h"
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

}  // namespace

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
    if (const uint64_t each = bytes_each_step(suspect); each > 0) table.note(kHeld, bytes(each) + " a step");
    if (const std::string kept = kept_words(suspect); !kept.empty()) table.note(kHeld, kept);
    if (suspect.site == 0) continue;
    const std::string source = opened.places.source_line(suspect.site);
    const std::string& where = opened.places.at(suspect.site).where;
    table.note(kHeld, "allocated at " + (source.empty() ? where : where + ": " + source), Style::dim, Cut::middle);
  }
  return table.text(terminal);
}

}  // namespace tensorscope::text
