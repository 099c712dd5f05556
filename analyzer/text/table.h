// SPDX-License-Identifier: Apache-2.0
// A text table that fits the terminal: columns as wide as their widest cell, and where that is too much, columns that
// may leave do, then the flexible ones are cut, the last one first, and where that is not enough, the last one beyond
// its least width. Cells are
// cleaned (text.h); a table prints nothing unsafe.
#pragma once

#include <string>
#include <vector>

#include "text/terminal.h"
#include "text/text.h"

namespace tensorscope::text {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  int least = 0;  // > 0: may be cut down to this many columns
  Cut cut = Cut::end;
  int wide = 0;  // at least so wide, so that two tables line up
  Style style = Style::plain;
  int wish = 0;         // with `least`: a width at which it is still read with ease
  int leaves = 0;       // > 0: goes before others are narrower than they wish, the lowest number first
  bool spills = false;  // a cell with nothing behind it runs on to the end of the line, and widens nothing
};

class Table {
 public:
  explicit Table(std::vector<Column> columns, int indent = 2) : columns_(std::move(columns)), indent_(indent) {}

  // One cell a column; missing ones are empty. `style` is for the whole row.
  void row(std::vector<std::string> cells, Style style = Style::plain);
  // A line below the last row, that starts at `column` and may use the rest of the line.
  void note(size_t column, const std::string& text, Style style = Style::dim, Cut cut = Cut::end);
  bool empty() const { return rows_.empty(); }
  // Cells of every row but notes, cleaned, for what draws no lines of text.
  std::vector<std::vector<std::string>> cells() const;

  // `titles`: whether a line of titles comes first. Columns that are empty in every row are left out.
  std::string text(const Terminal& terminal, bool titles = true) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Style style;
    bool is_note;
    size_t column;
    Cut cut;  // of a note
  };
  std::vector<int> widths(int limit, bool titles) const;
  void drop_columns(std::vector<int>& widths, int limit) const;
  bool spills(const std::vector<std::string>& cells, size_t column) const;

  std::vector<Column> columns_;
  int indent_;
  std::vector<Row> rows_;
};

}  // namespace tensorscope::text
