// SPDX-License-Identifier: Apache-2.0
#include "text/dump/driver_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "memory/driver_sums.h"
#include "text/shell_word.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::DriverShare;
using analyzer::DriverSums;
using analyzer::SiteLaunches;
using text::Align;

constexpr size_t kPlaces = 5;  // of memory that nobody else reported

const char* name_of(DriverShare share) {
  switch (share) {
    case DriverShare::torch:
      return "torch's allocator";
    case DriverShare::runtime:
      return "other calls of the CUDA runtime";
    case DriverShare::other:
      return "seen only by CUPTI";
  }
  return "";
}

// "pinned 4.0 KiB, device 1.0 MiB"; "" where all is of the kind that one expects.
std::string kinds(const DriverSums& sums) {
  std::string text;
  for (const auto& [kind, part] : sums.kinds) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", analyzer::driver_kind_text(kind), text::bytes(part.bytes));
  }
  return sums.kinds.size() > 1 ? text : "";
}

struct PlaceSum {
  uint64_t bytes = 0, blocks = 0;
  uint32_t site = 0;
};

// The places that took the most of what only CUPTI saw.
void add_places(text::Table& table, analyzer::OpenedDump& opened, const std::vector<DriverShare>& shares,
                analyzer::Device device) {
  std::map<std::string, PlaceSum> places;
  const auto& blocks = opened.dump.driver_memory.blocks;
  for (size_t i = 0; i < blocks.size(); i++) {
    if (shares[i] != DriverShare::other || blocks[i].device != device) continue;
    const std::string where = blocks[i].site == 0 ? "" : opened.places.at(blocks[i].site).where;
    PlaceSum& place = places[where];
    place.bytes += blocks[i].nbytes;
    place.blocks += 1;
    place.site = blocks[i].site;
  }
  std::vector<std::pair<std::string, PlaceSum>> sorted(places.begin(), places.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  for (size_t i = 0; i < std::min(kPlaces, sorted.size()); i++) {
    const auto& [where, place] = sorted[i];
    table.row({fmt::format("    {}", where.empty() ? "(unknown call site)" : where), text::count(place.blocks),
               text::bytes(place.bytes), place.site == 0 ? "" : opened.places.callers(place.site)});
  }
}

std::string title(const analyzer::Dump& dump) {
  const analyzer::DriverMemory& memory = dump.driver_memory;
  std::string when;
  if (memory.began_ns > dump.process.start_ns) {
    when = fmt::format(" from {} after start on", text::duration(memory.began_ns - dump.process.start_ns));
  }
  if (memory.ended_ns != 0 && dump.process.dump_ns > memory.ended_ns) {
    when += fmt::format(", until {} before the dump", text::duration(dump.process.dump_ns - memory.ended_ns));
  }
  return fmt::format("memory allocated by the driver (CUPTI){}", when);
}

std::string count_and_bytes(uint64_t count, uint64_t bytes) {
  return count == 0 ? "-" : fmt::format("{}, {}", text::count(count), text::bytes(bytes));
}

}  // namespace

std::string driver_table(analyzer::OpenedDump& opened, const text::Terminal& terminal) {
  const analyzer::DriverMemory& memory = opened.dump.driver_memory;
  if (!memory.present) return "";
  const std::vector<DriverShare> shares = analyzer::driver_shares(opened.dump);
  text::Table table({{.title = "", .least = 24},
                     {.title = "blocks", .align = Align::right},
                     {.title = "bytes", .align = Align::right},
                     {.title = "", .least = 8}});
  for (const DriverSums& sums : analyzer::driver_sums(opened.dump, shares)) {
    table.row({sums.device.is_cpu() ? "host memory" : sums.device.text(), text::count(sums.all.blocks),
               text::bytes(sums.all.bytes), kinds(sums)},
              text::Style::bold);
    for (const auto& [share, part] : sums.shares) {
      table.row({fmt::format("  {}", name_of(share)), text::count(part.blocks), text::bytes(part.bytes)});
      if (share == DriverShare::other) add_places(table, opened, shares, sums.device);
    }
  }
  std::string out = terminal.styled(text::Style::bold, title(opened.dump)) + "\n";
  out += table.empty() ? "  no live blocks\n" : table.text(terminal);
  if (memory.unknown_releases > 0) {
    out += fmt::format("  {} of memory allocated before recording began\n",
                       text::counted(memory.unknown_releases, "release"));
  }
  if (memory.lost > 0) out += fmt::format("  {} lost: too many at once\n", text::counted(memory.lost, "record"));
  if (!memory.flushed && memory.ended_ns == 0) out += "  CUPTI did not deliver its last records in time\n";
  if (opened.dump.launches_known) {
    const SiteLaunches all = analyzer::launch_totals(opened.dump);
    out += fmt::format(
        "  {}, {} of {}, {} of {}; tensorscope report {} --launches\n", text::counted(all.kernels, "kernel"),
        all.copies == 1 ? "1 copy" : text::count(all.copies) + " copies", text::bytes(all.copied_bytes),
        text::counted(all.fills, "fill"), text::bytes(all.filled_bytes), text::shell_word(opened.dump.path));
  }
  return out + "\n";
}

std::string launch_table(analyzer::OpenedDump& opened, size_t top, const text::Terminal& terminal) {
  if (!opened.dump.launches_known) {
    return "Kernels and copies were not recorded: run the program with TENSORSCOPE_CUPTI=activity.\n";
  }
  std::vector<uint32_t> sites;
  for (const SiteLaunches& row : opened.dump.launches) sites.push_back(row.site);
  opened.places.prefetch(sites, false);
  std::map<std::string, SiteLaunches> places;
  for (const SiteLaunches& row : opened.dump.launches) {
    auto [place, fresh] = places.try_emplace(row.site == 0 ? "" : opened.places.at(row.site).where);
    if (fresh) place->second.site = row.site;
    place->second.add(row);
  }
  std::vector<std::pair<std::string, SiteLaunches>> sorted(places.begin(), places.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second.device_ns(), a.second.kernels, a.second.copies) >
           std::tuple(b.second.device_ns(), b.second.kernels, b.second.copies);
  });
  const uint64_t whole = analyzer::launch_totals(opened.dump).device_ns();
  const size_t shown = top == 0 ? sorted.size() : std::min(top, sorted.size());
  text::Table table({{.title = "time", .align = Align::right},
                     {.title = "%", .align = Align::right},
                     {.title = "kernels", .align = Align::right},
                     {.title = "copies", .align = Align::right},
                     {.title = "fills", .align = Align::right},
                     {.title = "where", .least = 24, .cut = text::Cut::start},
                     {.title = "", .least = 12, .style = text::Style::dim}});
  for (size_t i = 0; i < shown; i++) {
    const auto& [where, row] = sorted[i];
    table.row({text::duration(row.device_ns()), text::percent(row.device_ns(), whole), text::count(row.kernels),
               count_and_bytes(row.copies, row.copied_bytes), count_and_bytes(row.fills, row.filled_bytes),
               where.empty() ? "(unknown call site)" : where,
               row.site == 0 ? "" : opened.places.source_line(row.site)});
    const std::string callers = row.site == 0 ? "" : opened.places.callers(row.site);
    if (!callers.empty()) table.note(5, "called by " + callers);
  }
  std::string out = terminal.styled(text::Style::bold, "kernels and copies by call site");
  if (shown < sorted.size()) {
    out += fmt::format("  (showing {} of {}; --top N)", text::count(shown), text::count(sorted.size()));
  }
  return out + "\n" + (table.empty() ? "  nothing ran\n" : table.text(terminal));
}

}  // namespace tensorscope::text
