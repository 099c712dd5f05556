// SPDX-License-Identifier: Apache-2.0
#include "export/query_rows.h"

#include <fmt/format.h>

#include "export/csv_field.h"
#include "export/json/scalars.h"
#include "support/printable.h"
#include "text/table.h"

namespace tensorscope::exports {

namespace {

using tables::Cell;

std::string cell_words(const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::null:
      return "";
    case Cell::Kind::int64:
      return std::to_string(cell.int64);
    case Cell::Kind::float64:
      return fmt::format("{}", cell.float64);
    case Cell::Kind::text:
      return analyzer::printable(cell.text);
  }
  return "";
}

// JSON has no infinity and no NaN.
Json cell_json(const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::null:
      return nullptr;
    case Cell::Kind::int64:
      return cell.int64;
    case Cell::Kind::float64:
      return cell.float64;
    case Cell::Kind::text:
      return std::string(cell.text);
  }
  return nullptr;
}

}  // namespace

void QueryRows::begin(const std::vector<std::string>& columns) {
  if (results_++ > 0) {
    end_table();
    out_ << '\n';
  }
  columns_ = columns;
  numbers_.assign(columns.size(), true);
  if (format_ == QueryFormat::json) out_ << '[';
  if (format_ != QueryFormat::csv) return;
  for (size_t i = 0; i < columns.size(); ++i) out_ << (i == 0 ? "" : ",") << csv_field(columns[i]);
  out_ << "\r\n";
}

void QueryRows::row(std::span<const Cell> cells) {
  switch (format_) {
    case QueryFormat::json: {
      out_ << (count_++ == 0 ? "\n{" : ",\n{");
      for (size_t i = 0; i < cells.size(); ++i) {
        out_ << (i == 0 ? "" : ",") << text_of(columns_[i]) << ':' << text_of(cell_json(cells[i]));
      }
      out_ << '}';
      return;
    }
    case QueryFormat::csv:
      for (size_t i = 0; i < cells.size(); ++i) out_ << (i == 0 ? "" : ",") << csv_field(cell_words(cells[i]));
      out_ << "\r\n";
      return;
    case QueryFormat::table: {
      std::vector<std::string>& words = rows_.emplace_back();
      for (size_t i = 0; i < cells.size(); ++i) {
        const bool null = cells[i].kind == Cell::Kind::null;
        words.push_back(null ? "null" : cell_words(cells[i]));
        if (cells[i].kind == Cell::Kind::text) numbers_[i] = false;
      }
    }
  }
}

void QueryRows::end_table() {
  if (format_ != QueryFormat::table) return;
  std::vector<text::Column> shape;
  for (size_t i = 0; i < columns_.size(); ++i) {
    shape.push_back({.title = columns_[i], .align = numbers_[i] ? text::Align::right : text::Align::left});
    if (!numbers_[i]) shape.back().least = 12;
  }
  text::Table table(shape, 0);
  for (std::vector<std::string>& words : rows_) table.row(std::move(words));
  out_ << (rows_.empty() ? "no rows\n" : table.text(terminal_));
  rows_.clear();
}

void QueryRows::end() {
  end_table();
  if (format_ == QueryFormat::json) out_ << "\n]\n";
}

}  // namespace tensorscope::exports
