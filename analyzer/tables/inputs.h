// SPDX-License-Identifier: Apache-2.0
// The files of one question, numbered from 1. Each is opened when its rows are wanted and closed after that, so that
// one dump at a time is in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tables/input_file.h"

namespace tensorscope::tables {

class Inputs {
 public:
  Inputs(std::vector<std::string> paths, analyzer::SymbolOptions options)
      : paths_(std::move(paths)), options_(std::move(options)) {}

  size_t size() const { return paths_.size(); }
  // `findings`: a query reads them; of several dumps of one run they are found in all together. Throws
  // analyzer::BadInput.
  void each(bool findings, const std::function<void(InputFile&)>& take);
  // What was wrong with the files, one sentence each.
  const std::vector<std::string>& problems() const { return problems_; }
  // What of the stacks that rows were made from could not be read.
  const analyzer::UnreadFiles& unread() const { return unread_; }

 private:
  std::shared_ptr<const SharedFindings> find_together();

  std::vector<std::string> paths_;
  analyzer::SymbolOptions options_;
  std::vector<std::string> problems_;
  analyzer::UnreadFiles unread_;
};

}  // namespace tensorscope::tables
