// SPDX-License-Identifier: Apache-2.0
// CSV and Parquet: one row a value.
#include <fmt/format.h>

#include "export/arrays/value_table.h"
#include "export/arrays/values_export.h"
#include "export/csv_field.h"
#include "support/printable.h"
#include "tables/parquet_writer.h"

namespace tensorscope::exports {

namespace {

using tables::ParquetField;
using Type = TableField::Type;

ParquetField::Kind parquet_kind(Type type) {
  switch (type) {
    case Type::int64:
      return ParquetField::Kind::int64;
    case Type::float64:
      return ParquetField::Kind::float64;
    case Type::text:
      return ParquetField::Kind::dictionary;
    case Type::elements:
      return ParquetField::Kind::bytes;
  }
  return ParquetField::Kind::bytes;
}

void write_cell(tables::ParquetWriter& out, Type type, const TableCell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) return out.int64(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return out.float64(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return out.text(type == Type::elements ? *text : analyzer::printable(*text));
  }
  out.null();
}

}  // namespace

void export_values_csv(const values::ValueColumns& columns, std::ostream& out) {
  const auto fields = table_fields();
  for (size_t i = 0; i < fields.size(); ++i) out << (i == 0 ? "" : ",") << fields[i].name;
  out << "\r\n";
  for_each_table_row(columns, [&](const values::Column& column, const std::vector<TableCell>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out << ',';
      if (const auto* whole = std::get_if<int64_t>(&row[i])) out << *whole;
      if (const auto* real = std::get_if<double>(&row[i])) out << fmt::format("{}", *real);
      if (const auto* text = std::get_if<std::string>(&row[i])) {
        out << (fields[i].type == Type::elements ? elements_text(column.dtype, *text)
                                                 : csv_field(analyzer::printable(*text)));
      }
    }
    out << "\r\n";
  });
}

void export_values_parquet(const values::ValueColumns& columns, std::ostream& out) {
  const auto fields = table_fields();
  std::vector<ParquetField> described;
  for (const TableField& field : fields) described.push_back({parquet_kind(field.type), field.name});
  tables::ParquetWriter writer(out, "values", std::move(described));
  for_each_table_row(columns, [&](const values::Column&, const std::vector<TableCell>& row) {
    for (size_t i = 0; i < row.size(); ++i) write_cell(writer, fields[i].type, row[i]);
    writer.end_row();
  });
  writer.finish();
}

}  // namespace tensorscope::exports
