// SPDX-License-Identifier: Apache-2.0
#include "text/table.h"

#include <algorithm>
#include <climits>

namespace tensorscope::text {

namespace {

constexpr int kGap = 2;
constexpr int kNarrowestColumn = 8;  // what the last column keeps in the narrowest terminal, if it is flexible

void append_padded(std::string& line, const std::string& cell, int width, Align align, const std::string& shown) {
  int padding = std::max(0, width - columns(cell));
  if (align == Align::right) line.append(size_t(padding), ' ');
  line += shown;
  if (align == Align::left) line.append(size_t(padding), ' ');
}

void trim_end(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

}  // namespace

void Table::row(std::vector<std::string> cells, Style style) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = clean(cell);
  rows_.push_back({std::move(cells), style, false, 0, Cut::end});
}

std::vector<std::vector<std::string>> Table::cells() const {
  std::vector<std::vector<std::string>> all;
  for (const Row& row : rows_) {
    if (!row.is_note) all.push_back(row.cells);
  }
  return all;
}

void Table::note(size_t column, const std::string& text, Style style, Cut cut) {
  rows_.push_back({{clean(text)}, style, true, column, cut});
}

bool Table::spills(const std::vector<std::string>& cells, size_t column) const {
  return columns_[column].spills &&
         std::all_of(cells.begin() + std::ptrdiff_t(column) + 1, cells.end(), [](auto& cell) { return cell.empty(); });
}

// Leaves out columns until the others have the widths that they wish for.
void Table::drop_columns(std::vector<int>& widths, int limit) const {
  for (;;) {
    int needed = indent_ - kGap;
    size_t first = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      const bool flexible = column.least > 0 && widths[i] > 0;
      needed += kGap + (flexible ? std::min(widths[i], std::max(column.least, column.wish)) : widths[i]);
      if (column.leaves == 0 || widths[i] < 0) continue;
      if (first == columns_.size() || column.leaves < columns_[first].leaves) first = i;
    }
    if (needed <= limit || first == columns_.size()) return;
    widths[first] = -kGap;
  }
}

std::vector<int> Table::widths(int limit, bool titles) const {
  std::vector<int> result(columns_.size(), -kGap);  // -kGap: left out, with its gap
  for (size_t i = 0; i < columns_.size(); ++i) {
    int widest = 0;
    for (const Row& row : rows_) {
      if (row.is_note || row.cells[i].empty()) continue;
      widest = std::max(widest, spills(row.cells, i) ? 1 : columns(row.cells[i]));
    }
    if (widest == 0) continue;
    result[i] = std::max({widest, titles ? columns(columns_[i].title) : 0, columns_[i].wide});
  }
  if (limit <= 0) return result;
  drop_columns(result, limit);
  int total = indent_ - kGap;
  for (int width : result) total += width + kGap;
  auto narrow = [&](size_t i, int least) {
    if (least == 0 || result[i] <= least || total <= limit) return;
    int width = std::max(least, result[i] - (total - limit));
    total -= result[i] - width;
    result[i] = width;
  };
  for (size_t i = columns_.size(); i-- > 0;) narrow(i, std::max(columns_[i].least, columns_[i].wish));
  for (size_t i = columns_.size(); i-- > 0;) narrow(i, columns_[i].least);
  narrow(columns_.size() - 1, std::min(columns_.back().least, kNarrowestColumn));
  return result;
}

std::string Table::text(const Terminal& terminal, bool titles) const {
  std::vector<int> width = widths(terminal.width, titles);
  std::string out;
  auto line_of = [&](auto&& cell_of, Style row_style, const Row* row) {  // no row: the titles
    std::string line(size_t(indent_), ' ');
    int used = indent_;
    bool first = true;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (width[i] < 0) continue;
      if (!first) {
        line.append(kGap, ' ');
        used += kGap;
      }
      first = false;
      int room = width[i];
      if (row != nullptr && spills(row->cells, i))
        room = terminal.width > 0 ? std::max(room, terminal.width - used) : INT_MAX;
      std::string cell = cut(cell_of(i), room, row == nullptr ? Cut::end : columns_[i].cut);
      Style style = row_style != Style::plain ? row_style : columns_[i].style;
      append_padded(line, cell, width[i], columns_[i].align, terminal.styled(style, cell));
      used += width[i];
    }
    trim_end(line);
    // What cannot be narrowed any more is cut at the edge, unless colour codes are in it.
    if (terminal.width > 0 && !terminal.colour) line = cut(line, terminal.width);
    out += line + "\n";
  };
  if (titles) line_of([&](size_t i) { return columns_[i].title; }, Style::dim, nullptr);
  for (const Row& row : rows_) {
    if (!row.is_note) {
      line_of([&](size_t i) { return row.cells[i]; }, row.style, &row);
      continue;
    }
    int start = indent_;
    for (size_t i = 0; i < std::min(row.column, columns_.size()); ++i) start += width[i] + kGap;
    std::string note = row.cells[0];
    if (terminal.width > 0) note = cut(note, std::max(8, terminal.width - start), row.cut);
    out += std::string(size_t(start), ' ') + terminal.styled(row.style, note) + "\n";
  }
  return out;
}

}  // namespace tensorscope::text
