// SPDX-License-Identifier: Apache-2.0
// The rows of a query as a table for people, as CSV, as JSON.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "tables/database.h"
#include "text/terminal.h"

namespace tensorscope::exports {

enum class QueryFormat { table, csv, json };

class QueryRows {
 public:
  QueryRows(QueryFormat format, std::ostream& out, const text::Terminal& terminal)
      : format_(format), out_(out), terminal_(terminal) {}

  // Of each result in turn.
  void begin(const std::vector<std::string>& columns);
  void row(std::span<const tables::Cell> cells);
  void end();

 private:
  void end_table();

  QueryFormat format_;
  std::ostream& out_;
  const text::Terminal& terminal_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;  // of a table, whose widths are known at its end
  std::vector<bool> numbers_;                   // columns in which every cell is a number
  size_t results_ = 0, count_ = 0;
};

}  // namespace tensorscope::exports
