// SPDX-License-Identifier: Apache-2.0
// The values of one name as a table: what an export has one data set for. Files of several ranks become one table.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "values/value_filter.h"
#include "values/values_file.h"

namespace tensorscope::values {

struct ColumnRow {
  size_t file = 0;
  Value value;  // elements_of() finds its elements without another row, also those of an unchanged value
};

// All of one kind and dtype.
struct Column {
  std::string key;  // the name; from the second of a name on with what differs: "loss [bfloat16]"
  std::string_view name, operation, module;
  format::ValueKind kind = format::ValueKind::tensor;
  int dtype = -1;         // of the elements in the file; -1: no tensor
  bool elements = false;  // false: statistics alone, or nothing
  std::vector<ColumnRow> rows;
};

class ValueColumns {
 public:
  using Files = std::vector<std::unique_ptr<ValuesFile>>;

  // Both are used as long as this lives.
  ValueColumns(const Files& files, const ValueFilter& filter);

  // Takes in the values that came since. True where there were any.
  bool take_new();
  // Rows of several files in the order of their steps; within a step by file.
  void sort_by_step();

  const Files& files() const { return files_; }
  const std::deque<Column>& columns() const { return columns_; }  // in the order of their first values
  uint64_t rows() const { return rows_; }

 private:
  struct Source {
    uint64_t last_serial = 0;
    std::unordered_map<uint64_t, Value> repeated;  // values that others have the elements of
  };
  struct Key {
    std::string_view name, operation;
    format::ValueKind kind;
    int dtype;
    bool elements;
    auto operator<=>(const Key&) const = default;
  };
  void find_elements(size_t file, Value& value);
  Column& column_of(const Value& value);

  const Files& files_;
  const ValueFilter& filter_;
  std::vector<Source> sources_;
  std::map<Key, size_t> at_;
  std::set<std::string, std::less<>> keys_;
  std::deque<Column> columns_;
  uint64_t rows_ = 0;
};

}  // namespace tensorscope::values
