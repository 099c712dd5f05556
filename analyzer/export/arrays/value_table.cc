// SPDX-License-Identifier: Apache-2.0
#include "export/arrays/value_table.h"

#include <fmt/format.h>

#include <cmath>

#include "dump/type_names.h"
#include "text/values/comparison.h"
#include "text/values/phrases.h"
#include "values/element_type.h"

namespace tensorscope::exports {

namespace {

using values::ColumnRow;
using values::Value;
using Type = TableField::Type;

constexpr TableField kFields[] = {
    {"name", Type::text},
    {"operation", Type::text},
    {"place", Type::text},
    {"module", Type::text},
    {"kind", Type::text},
    {"step", Type::int64},
    {"pass", Type::int64},
    {"mode", Type::text},
    {"index", Type::int64},
    {"rank", Type::int64},
    {"pid", Type::int64},
    {"thread", Type::int64},
    {"time_unix_ns", Type::int64},
    {"site", Type::text},
    {"device", Type::text},
    {"dtype", Type::text},
    {"shape", Type::text},
    {"count", Type::int64},
    {"nan", Type::int64},
    {"positive_infinity", Type::int64},
    {"negative_infinity", Type::int64},
    {"zeros", Type::int64},
    {"mean", Type::float64},
    {"std", Type::float64},
    {"min", Type::float64},
    {"max", Type::float64},
    {"sum", Type::float64},
    {"l1", Type::float64},
    {"l2", Type::float64},
    {"value", Type::float64},
    {"text", Type::text},
    {"note", Type::text},
    {"stored_dtype", Type::text},
    {"stored_shape", Type::text},
    {"elements", Type::elements},
};

TableCell text_cell(std::string_view text) { return text.empty() ? TableCell() : TableCell(std::string(text)); }

std::string sizes_text(const std::vector<int64_t>& shape) {
  std::string out;
  for (int64_t size : shape) out += (out.empty() ? "" : " ") + std::to_string(size);
  return "[" + out + "]";
}

void add_statistics_cells(const Value& value, std::vector<TableCell>& row) {
  if (!value.statistics) {
    row.insert(row.end(), 12, TableCell());
    return;
  }
  const values::Statistics& in = *value.statistics;
  for (uint64_t number : {in.count, in.nan, in.positive_infinity, in.negative_infinity, in.zeros}) {
    row.emplace_back(int64_t(number));
  }
  for (double number : {in.mean, in.deviation, in.minimum, in.maximum, in.sum, in.l1, in.l2}) row.emplace_back(number);
}

// The number that a value is: one of Python, or the only element of a tensor.
TableCell number_cell(const Value& value, const std::optional<values::Elements>& elements) {
  switch (value.kind) {
    case format::ValueKind::boolean:
    case format::ValueKind::real:
    case format::ValueKind::complex:
      return value.number;
    case format::ValueKind::integer:
      return double(value.integer);
    case format::ValueKind::tensor:
      if (!elements || values::element_size(elements->dtype) == 0) return {};
      if (elements->bytes.size() != values::element_size(elements->dtype)) return {};
      return values::real_of(elements->dtype, elements->bytes.data(), 0);
    default:
      return {};
  }
}

TableCell words_cell(const Value& value, const std::optional<values::Elements>& elements) {
  switch (value.kind) {
    case format::ValueKind::text:
    case format::ValueKind::other:
      return elements ? TableCell(elements->bytes) : TableCell();
    case format::ValueKind::integer:
      return std::to_string(value.integer);
    case format::ValueKind::complex:
      return fmt::format("{}{:+}j", value.number, value.imaginary);
    default:
      return {};
  }
}

std::string element_words(int dtype, const void* bytes, size_t i) {
  if (values::is_complex(dtype)) {
    return fmt::format("{}{:+}j", values::real_of(dtype, bytes, i), values::imaginary_of(dtype, bytes, i));
  }
  if (dtype == values::kUint64) return std::to_string(uint64_t(values::integer_of(dtype, bytes, i)));
  if (!values::is_floating(dtype)) return std::to_string(values::integer_of(dtype, bytes, i));
  const double number = values::real_of(dtype, bytes, i);
  if (std::isnan(number)) return "nan";
  return dtype == values::kFloat64 ? fmt::format("{}", number) : fmt::format("{}", float(number));
}

}  // namespace

std::span<const TableField> table_fields() { return kFields; }

std::string elements_text(int dtype, const std::string& bytes) {
  const size_t item = values::element_size(dtype);
  std::string out;
  for (size_t i = 0; item != 0 && i < bytes.size() / item; ++i) {
    if (i != 0) out += ' ';
    out += element_words(dtype, bytes.data(), i);
  }
  return out;
}

void for_each_table_row(const values::ValueColumns& columns,
                        const std::function<void(const values::Column&, const std::vector<TableCell>&)>& f) {
  for (const values::Column& column : columns.columns()) {
    for (const ColumnRow& each : column.rows) {
      const Value& value = each.value;
      const values::ValuesFile& file = *columns.files()[each.file];
      const int rank = file.process().rank;
      const std::optional<values::Elements> elements = value.stored ? file.elements_of(value) : std::nullopt;
      const bool tensor = value.is_tensor();
      std::vector<TableCell> row = {std::string(value.name),
                                    text_cell(value.operation),
                                    text_cell(text::place_name(value.place)),
                                    text_cell(value.module),
                                    std::string(text::kind_name(value.kind)),
                                    int64_t(value.step),
                                    int64_t(value.pass),
                                    text_cell(text::mode_name(value.mode)),
                                    int64_t(value.index),
                                    rank < 0 ? TableCell() : TableCell(int64_t(rank)),
                                    int64_t(file.process().pid),
                                    int64_t(value.thread),
                                    int64_t(file.unix_ns(value.time_ns)),
                                    text_cell(value.site),
                                    tensor ? TableCell(value.device.text()) : TableCell(),
                                    tensor ? TableCell(analyzer::dtype_name(value.dtype)) : TableCell(),
                                    tensor ? TableCell(sizes_text(value.shape)) : TableCell()};
      add_statistics_cells(value, row);
      row.push_back(number_cell(value, elements));
      row.push_back(words_cell(value, elements));
      row.push_back(text_cell(value.note));
      const bool has = tensor && elements;
      row.push_back(has ? TableCell(analyzer::dtype_name(elements->dtype)) : TableCell());
      row.push_back(has ? TableCell(sizes_text(elements->shape)) : TableCell());
      row.push_back(has ? TableCell(elements->bytes) : TableCell());
      f(column, row);
    }
  }
}

}  // namespace tensorscope::exports
