// SPDX-License-Identifier: Apache-2.0
// Lines of source files, for showing beside a frame: those that the dump brings along, and where the user named a
// folder, lines of the files in it. No file is opened otherwise: the names come from the dump.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

class SourceLines {
 public:
  // A folder stands for `/` or for the working directory of the process that was dumped. Of a file whose hash the dump
  // has, a copy with that hash is taken, wherever below a folder its path's end leads to; any other file must not have
  // been written after the process started.
  SourceLines(const Dump& dump, std::vector<std::string> folders) : dump_(dump), folders_(std::move(folders)) {}

  // Line `line` (from 1) without the blanks around it, fit for a terminal; "" where it cannot be had.
  std::string line(const std::string& file, int line);
  // One sentence for each file below the folders that was found and not believed.
  std::vector<std::string> notes() const;

 private:
  const SourceFile* in_dump(const std::string& file) const;
  std::vector<std::string> read(const std::string& file);
  std::vector<std::string> candidates(const std::string& file, bool any_end) const;
  std::optional<std::string> believed(const std::string& folder, const std::string& path, const SourceFile* known);

  const Dump& dump_;
  std::vector<std::string> folders_;
  std::map<std::string, std::vector<std::string>> files_;
  std::set<std::string> notes_;
};

}  // namespace tensorscope::analyzer
