// SPDX-License-Identifier: Apache-2.0
// One file that tables are made of: a dump, a moment of a recording (FILE@peak), a recording, or a values file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leaks/leaks.h"
#include "memory/opened_dump.h"
#include "memory/peak_places.h"
#include "recording/recording_file.h"
#include "tables/table.h"
#include "timeline/timeline.h"
#include "values/values_file.h"

namespace tensorscope::tables {

// Findings of several dumps of one run, which the last of them has.
struct SharedFindings {
  analyzer::Leaks leaks;
  size_t dump = 0;  // number of the last one; 0: each dump has findings of its own
};

class InputFile {
 public:
  // `number` stands in the first column of every table. Throws analyzer::BadInput.
  InputFile(const std::string& path, size_t number, const analyzer::SymbolOptions& options);
  // Of a dump that was read already.
  InputFile(analyzer::Dump dump, size_t number, const analyzer::SymbolOptions& options);

  size_t number() const { return number_; }
  const std::string& path() const { return path_; }
  FileKind kind() const { return kind_; }
  bool names_functions() const { return options_.native; }  // of native frames
  // A recording has a dump's tables too: of its end.
  bool has(const Table& table) const {
    return table.file == kind_ || (kind_ == FileKind::recording && table.file == FileKind::dump);
  }
  // What is wrong with the file, one sentence each.
  std::vector<std::string> problems() const;
  // Returns what of the stacks that were read so far is missing.
  analyzer::UnreadFiles unread() const;

  analyzer::OpenedDump& opened();
  const analyzer::Dump& dump() { return opened().dump; }
  const analyzer::Selection& everything();
  const analyzer::Place& place(uint32_t site);
  const std::vector<analyzer::Frame>& stack(uint32_t site);
  const std::string& stack_key(uint32_t site);
  // Of the dump alone, or those that it has for all dumps that were given.
  const analyzer::Leaks& findings();
  // Of each site of the peak.
  const analyzer::PeakCategories& peak_categories(size_t index);
  void share(std::shared_ptr<const SharedFindings> findings) { shared_ = std::move(findings); }

  const values::ValuesFile& values() const { return *values_; }
  const analyzer::RecordingFile& recording() const { return *recording_; }
  const analyzer::MemoryTimeline& timeline();

 private:
  void prefetch(bool whole_stacks);

  std::string path_;
  size_t number_;
  FileKind kind_ = FileKind::dump;
  analyzer::SymbolOptions options_;
  std::unique_ptr<analyzer::OpenedDump> opened_;
  std::optional<analyzer::Selection> everything_;
  std::optional<analyzer::Leaks> leaks_;
  std::optional<std::vector<analyzer::PeakCategories>> peak_categories_;
  std::shared_ptr<const SharedFindings> shared_;
  bool places_ready_ = false, stacks_ready_ = false;
  std::unique_ptr<values::ValuesFile> values_;
  std::unique_ptr<analyzer::RecordingFile> recording_;
  std::optional<analyzer::MemoryTimeline> timeline_;
};

// The kind of the file at `path`, by how it begins.
FileKind kind_of(const std::string& path);

}  // namespace tensorscope::tables
