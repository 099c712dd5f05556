// SPDX-License-Identifier: Apache-2.0
#include "text/dump/moment_phrases.h"

#include <fmt/format.h>

#include "text/text.h"
#include "text/units.h"

namespace tensorscope::text {

using analyzer::CategorySource;

MomentNames count_names(const analyzer::OpenedDump& opened) {
  MomentNames names;
  for (uint32_t i = 0; i < opened.dump.tensors.size(); ++i) {
    names.named += opened.names_of_run && opened.names_of_run->tensor(opened.dump.tensors[i].serial) != nullptr;
    const CategorySource source = opened.holders.category_source(i);
    names.inferred += source == CategorySource::inferred;
    names.unknown += source == CategorySource::unknown;
  }
  for (const analyzer::Item& item : opened.accounts.items()) {
    if (item.tensor == analyzer::kNone) continue;
    if (opened.holders.category_source(item.tensor) == CategorySource::inferred) names.inferred_bytes += item.bytes;
  }
  return names;
}

namespace {

std::string sources(const analyzer::OpenedDump& opened) {
  std::string text;
  const uint64_t now = opened.dump.process.dump_ns;
  for (const analyzer::NamesOfRun::Source& source : opened.names_of_run->sources()) {
    const bool later = source.dump_ns >= now;
    text += fmt::format("{}{} ({} {})", text.empty() ? "" : ", ", source.file,
                        duration(later ? source.dump_ns - now : now - source.dump_ns), later ? "later" : "earlier");
  }
  return text;
}

// A tensor may be in no dump and have a holder: it shares the storage of one that is.
uint64_t without_holder(const analyzer::OpenedDump& opened) {
  uint64_t tensors = 0;
  for (uint32_t i = 0; i < opened.dump.tensors.size(); ++i) {
    const std::vector<analyzer::Holder>& holders = opened.holders.holders(i);
    tensors += !holders.empty() && analyzer::is_not_looked_up(holders.front());
  }
  return tensors;
}

}  // namespace

std::string moment_names_line(const analyzer::OpenedDump& opened, const Terminal& terminal) {
  if (!opened.dump.moment || opened.dump.tensors.empty()) return "";
  const MomentNames names = count_names(opened);
  std::string line = opened.names_of_run
                         ? fmt::format("Names: {} of {} from {}.", count(names.named),
                                       counted(opened.dump.tensors.size(), "tensor"), sources(opened))
                         : "Names: none, there is no dump of this run beside the recording (--names-from DUMP).";
  if (const uint64_t without = without_holder(opened); opened.names_of_run && without != 0) {
    line += fmt::format(" The holders of {} are not known: in no dump of this run.", counted(without, "tensor"));
  }
  if (names.inferred != 0) {
    line += fmt::format(" Categories of {} ({}) are inferred from call stack and lifetime (~).",
                        counted(names.inferred, "tensor"), bytes(names.inferred_bytes));
  }
  if (names.unknown != 0) line += fmt::format(" {} without a category.", counted(names.unknown, "tensor"));
  return wrap(clean(line), terminal.width, 2) + "\n";
}

}  // namespace tensorscope::text
