// SPDX-License-Identifier: Apache-2.0
#include "tables/table.h"

#include <utility>

namespace tensorscope::tables {

namespace {

constexpr size_t kBatchRows = 1 << 16, kBatchText = size_t{64} << 20;

Batch new_batch(const Table& table, const std::vector<size_t>& columns) {
  Batch batch{.table = &table, .columns = columns, .data = {}, .rows = 0};
  for (size_t column : columns) batch.data.emplace_back(table.columns[column].type);
  return batch;
}

}  // namespace

const std::vector<Table>& all_tables() {
  static const std::vector<Table> all = [] {
    std::vector<Table> tables;
    for (const auto& some : {dump_tables(), tensor_tables(), site_tables(), finding_tables(), coverage_tables(),
                             memory_tables(), history_tables(), graph_tables(), values_tables(), recording_tables()}) {
      tables.insert(tables.end(), some.begin(), some.end());
    }
    return tables;
  }();
  return all;
}

const Table* table_named(std::string_view name) {
  for (const Table& table : all_tables()) {
    if (name == table.name) return &table;
  }
  return nullptr;
}

const char* type_name(Type type) {
  switch (type) {
    case Type::int64:
      return "int64";
    case Type::float64:
      return "double";
    case Type::boolean:
      return "bool";
    case Type::text:
    case Type::dictionary:
      return "text";
  }
  return "";
}

bool scan(InputFile& file, const Table& table, const std::vector<size_t>& columns, const TakeBatch& take) {
  Batch batch = new_batch(table, columns);
  bool wanted = true;
  table.each(file, [&](const Row& row) {
    size_t text = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      table.columns[columns[i]].get(file, row, batch.data[i]);
      batch.data[i].end_row();
      text += batch.data[i].text_bytes();
    }
    if (++batch.rows < kBatchRows && text < kBatchText) return true;
    wanted = take(std::exchange(batch, new_batch(table, columns)));
    return wanted;
  });
  return wanted && (batch.rows == 0 || take(std::move(batch)));
}

std::vector<size_t> all_columns(const Table& table) {
  std::vector<size_t> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) columns.push_back(i);
  return columns;
}

}  // namespace tensorscope::tables
