// SPDX-License-Identifier: Apache-2.0
#include "tables/parquet_export.h"

#include <cctype>
#include <map>
#include <memory>

#include "tables/parquet_writer.h"

namespace tensorscope::tables {

namespace {

constexpr const char* kUnknown = "__HIVE_DEFAULT_PARTITION__";

ParquetField::Kind kind_of(Type type) {
  switch (type) {
    case Type::int64:
      return ParquetField::Kind::int64;
    case Type::float64:
      return ParquetField::Kind::float64;
    case Type::boolean:
      return ParquetField::Kind::boolean;
    case Type::text:
      return ParquetField::Kind::text;
    case Type::dictionary:
      return ParquetField::Kind::dictionary;
  }
  return ParquetField::Kind::text;
}

std::unique_ptr<ParquetWriter> writer_of(std::ostream& out, const Table& table, const std::vector<size_t>& columns) {
  std::vector<ParquetField> fields;
  for (size_t column : columns) {
    fields.push_back({kind_of(table.columns[column].type), table.columns[column].name});
  }
  return std::make_unique<ParquetWriter>(out, table.name, std::move(fields));
}

void write_cell(ParquetWriter& out, const ColumnData& data, size_t row) {
  if (data.is_null(row)) return out.null();
  switch (data.type()) {
    case Type::int64:
      return out.int64(data.int64_at(row));
    case Type::float64:
      return out.float64(data.float64_at(row));
    case Type::boolean:
      return out.boolean(data.boolean_at(row));
    case Type::text:
    case Type::dictionary:
      return out.text(data.text_at(row));
  }
}

void write_batch(ParquetWriter& out, const Batch& batch) {
  for (size_t row = 0; row < batch.rows; ++row) {
    for (const ColumnData& data : batch.data) write_cell(out, data, row);
    out.end_row();
  }
}

// What may stand in a folder's name without being taken for something else.
std::string part(const std::string& key, const std::string& value) {
  std::string safe;
  for (char c : value) safe += std::isalnum(uint8_t(c)) != 0 || c == '-' || c == '_' || c == '.' ? c : '_';
  return "/" + key + "=" + (safe.empty() ? kUnknown : safe);
}

std::string number_or_nothing(int64_t number) { return number < 0 ? "" : std::to_string(number); }

const analyzer::Process& process_of_file(InputFile& file) {
  return file.kind() == FileKind::values ? file.values().process() : file.dump().process;
}

std::string stem(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (const char* ending : {".tscope", ".values", ".recording"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
  }
  return name;
}

// Without those that the folders' names have.
std::vector<size_t> columns_beside(const Table& table) {
  std::vector<size_t> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string_view name = table.columns[i].name;
    if (name == "rank" || (name == "step" && table.file == FileKind::dump)) continue;
    columns.push_back(i);
  }
  return columns;
}

}  // namespace

void export_parquet(Inputs& inputs, const ParquetFileOf& file) {
  std::map<const Table*, std::unique_ptr<ParquetWriter>> writers;
  inputs.each(true, [&](InputFile& input) {
    for (const Table& table : all_tables()) {
      if (!input.has(table)) continue;
      const std::vector<size_t> columns = all_columns(table);
      std::unique_ptr<ParquetWriter>& writer = writers[&table];
      if (!writer) writer = writer_of(file(std::string(table.name) + ".parquet"), table, columns);
      scan(input, table, columns, [&](Batch&& batch) {
        write_batch(*writer, batch);
        return true;
      });
    }
  });
  for (const auto& [table, writer] : writers) writer->finish();
}

void export_partitioned(Inputs& inputs, const ParquetFileOf& file, const std::function<void()>& close) {
  inputs.each(false, [&](InputFile& input) {
    const analyzer::Process& process = process_of_file(input);
    const std::string run = part("run", process.run_id) + part("rank", number_or_nothing(process.rank));
    for (const Table& table : all_tables()) {
      if (!input.has(table)) continue;
      const std::vector<size_t> columns = columns_beside(table);
      std::unique_ptr<ParquetWriter> writer;
      scan(input, table, columns, [&](Batch&& batch) {
        if (!writer) {
          const std::string step = table.file == FileKind::dump ? part("step", number_or_nothing(process.step)) : "";
          writer = writer_of(file(table.name + run + step + "/" + stem(input.path()) + ".parquet"), table, columns);
        }
        write_batch(*writer, batch);
        return true;
      });
      if (writer) writer->finish();
    }
    close();
  });
}

}  // namespace tensorscope::tables
