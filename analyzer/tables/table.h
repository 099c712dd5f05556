// SPDX-License-Identifier: Apache-2.0
// What a dump, a values file or a recording is as tables: rows with typed columns, joined by ids. One description, from
// which SQLite, Arrow, Parquet and docs/tables.md follow.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tables/column_data.h"

namespace tensorscope::tables {

class InputFile;

// Which row: what a table's rows are numbered by. `object`: the row itself, where it has no number.
struct Row {
  size_t index = 0, part = 0;
  const void* object = nullptr;
};

struct Column {
  const char* name;
  Type type;
  const char* meaning;
  void (*get)(InputFile&, const Row&, ColumnData&);  // adds the row's value, or nothing for null
};

enum class FileKind : uint8_t { dump, values, recording };

using VisitRow = std::function<bool(const Row&)>;  // false: no more rows are wanted

struct Table {
  const char* name;
  const char* meaning;
  FileKind file;
  std::span<const Column> columns;  // the first one is the number of the file
  void (*each)(InputFile&, const VisitRow&);
};

std::span<const Table> dump_tables();
std::span<const Table> tensor_tables();
std::span<const Table> site_tables();
std::span<const Table> finding_tables();
std::span<const Table> coverage_tables();
std::span<const Table> memory_tables();
std::span<const Table> history_tables();
std::span<const Table> graph_tables();
std::span<const Table> values_tables();
std::span<const Table> recording_tables();
// All of them, in the order of docs/tables.md.
const std::vector<Table>& all_tables();
const Table* table_named(std::string_view name);
const char* type_name(Type type);  // "int64", "double", "bool", "text"

// Some rows of one table.
struct Batch {
  const Table* table = nullptr;
  std::vector<size_t> columns;  // which of the table's
  std::vector<ColumnData> data;
  size_t rows = 0;
};

using TakeBatch = std::function<bool(Batch&&)>;  // false: no more rows are wanted

// Delivers the rows of a table in batches. `columns`: which are wanted; of the others nothing is computed. False:
// `take` wanted no more.
bool scan(InputFile& file, const Table& table, const std::vector<size_t>& columns, const TakeBatch& take);
std::vector<size_t> all_columns(const Table& table);

}  // namespace tensorscope::tables
