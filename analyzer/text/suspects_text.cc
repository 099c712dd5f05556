#include "text/suspects_text.h"

#include <fmt/format.h>

#include "text/table.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Suspect;

// "30 tensors, created at 30 different times or more, the newest 0.4 s ago"
std::string times_words(const Suspect& suspect) {
  if (suspect.kind == Suspect::Kind::larger) {
    return fmt::format("allocated {} times, larger than before: replaced by a larger one each time?",
                       count(suspect.generations));
  }
  const char* things = suspect.kind == Suspect::Kind::graph  ? "graph node"
                       : suspect.kind == Suspect::Kind::site ? "allocation"
                                                             : "tensor";
  const std::string oldest = duration(suspect.oldest_ns), newest = duration(suspect.newest_ns);
  return fmt::format("{}, created at {} different times or more, {} ago", counted(suspect.count, things),
                     count(suspect.generations), oldest == newest ? oldest : oldest + " to " + newest);
}

std::string kept_words(const Suspect& suspect) {
  if (suspect.kind == Suspect::Kind::larger || suspect.made == 0) return "";
  return fmt::format("{} of {} that were ever allocated there are alive", count(suspect.kept), count(suspect.made));
}

}  // namespace

std::string suspects_text(analyzer::OpenedDump& opened, const std::vector<Suspect>& suspects, size_t top,
                          const Terminal& terminal) {
  if (suspects.empty()) return "";
  std::string heading = "suspects: filled at many times, hardly ever emptied; two dumps some steps apart show whether they grow";
  if (top != 0 && suspects.size() > top) heading += fmt::format(" (showing {} of {}; --top N)", top, suspects.size());
  std::string out = "\n" + wrap(heading, terminal.width, 2) + "\n";
  constexpr size_t kHeld = 2;
  Table table({{.title = "", .align = Align::right},
               {.title = "retained", .align = Align::right},
               {.title = "held by", .least = 24, .cut = Cut::middle}});
  for (size_t i = 0; i < suspects.size() && (top == 0 || i < top); ++i) {
    const Suspect& suspect = suspects[i];
    table.row({count(i + 1), bytes(suspect.bytes), suspect.holder.empty() ? "nothing that is known" : suspect.holder});
    table.note(kHeld, times_words(suspect));
    if (const std::string kept = kept_words(suspect); !kept.empty()) table.note(kHeld, kept);
    if (suspect.site == 0) continue;
    const std::string source = opened.places.source_line(suspect.site);
    const std::string& where = opened.places.at(suspect.site).where;
    table.note(kHeld, "allocated at " + (source.empty() ? where : where + ": " + source), Style::dim, Cut::middle);
  }
  return out + table.text(terminal);
}

}  // namespace tensorscope::text
