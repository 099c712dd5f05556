// SPDX-License-Identifier: Apache-2.0
#include "cli/info_files.h"

#include <fmt/format.h>

#include "dump_generated.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

std::string names_of_source_files(const analyzer::Dump& dump, format::SourceState state) {
  constexpr size_t kShown = 3;
  std::string text;
  size_t files = 0;
  for (const analyzer::SourceFile& file : dump.sources.files) {
    if (file.state != int(state)) continue;
    if (files++ < kShown) text += (text.empty() ? "" : ", ") + file.path.substr(file.path.rfind('/') + 1);
  }
  return files > kShown ? fmt::format("{} and {} more", text, files - kShown) : text;
}

const char* source_state_words(format::SourceState state) {
  switch (state) {
    case format::SourceState::read:
      return "";
    case format::SourceState::changed:
      return "changed after the process started";
    case format::SourceState::unreadable:
      return "unreadable";
    case format::SourceState::too_large:
      return "too large";
    case format::SourceState::left_out:
      return "not copied";
  }
  return "";
}

}  // namespace

size_t source_line_count(const analyzer::Dump& dump) {
  size_t lines = 0;
  for (const analyzer::SourceFile& file : dump.sources.files) lines += file.lines.size();
  return lines;
}

std::string source_phrase(const analyzer::Dump& dump) {
  if (!dump.sources.present) return "none";
  std::string text = text::counted(dump.sources.files.size(), "file");
  for (const format::SourceState state : format::EnumValuesSourceState()) {
    const std::string names = *source_state_words(state) ? names_of_source_files(dump, state) : "";
    if (!names.empty()) text += fmt::format("; {}: {}", source_state_words(state), names);
  }
  if (!dump.sources.complete && !dump.sources.detail.empty()) text += "; not complete: " + dump.sources.detail;
  return text;
}

std::string symbols_text(analyzer::Symbols& symbols, const text::Terminal& terminal) {
  const analyzer::SymbolCheck check = symbols.check();
  if (check.wanted == 0) return "  no native frames\n";
  std::string text = text::wrap(fmt::format("  found {} of {} with native frames on this machine (by build-id)",
                                            text::count(check.found), text::counted(check.wanted, "object")),
                                terminal.width, 2) +
                     "\n";
  for (const std::string& note : check.notes) {
    text += terminal.styled(text::Style::warning, text::wrap("  " + text::clean(note), terminal.width, 4)) + "\n";
  }
  return text;
}

}  // namespace tensorscope::cli
