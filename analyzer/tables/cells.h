// SPDX-License-Identifier: Apache-2.0
// How columns are written down, and values that may be missing.
#pragma once

#include <string>

#include "dump/device.h"
#include "dump/dump.h"
#include "tables/input_file.h"

namespace tensorscope::tables {

inline void text_or_null(ColumnData& column, const std::string& text) {
  if (!text.empty()) column.text(text);
}

inline void number_or_null(ColumnData& column, uint64_t number) {
  if (number != 0) column.int64(number);
}

// Of an index that may be kNone.
inline void index_or_null(ColumnData& column, uint32_t index) {
  if (index != analyzer::kNone) column.int64(index);
}

inline void tensor_or_null(InputFile& file, ColumnData& column, uint32_t tensor) {
  if (tensor != analyzer::kNone) column.int64(file.dump().tensors[tensor].serial);
}

inline void age_or_null(InputFile& file, ColumnData& column, uint64_t created_ns) {
  const uint64_t now = file.dump().process.dump_ns;
  if (created_ns != 0 && created_ns <= now) column.int64(now - created_ns);
}

inline void place_or_null(InputFile& file, ColumnData& column, uint32_t site) {
  if (site != 0) column.text(file.place(site).where);
}

inline constexpr Column kDumpColumn = {
    "dump", Type::int64, "number of the file among those given, from 1",
    [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.number()); }};

// Every index below `count`.
inline void each_index(size_t count, const VisitRow& visit, size_t first = 0) {
  for (size_t i = first; i < count; ++i) {
    if (!visit({.index = i})) return;
  }
}

// Every part of every row below `rows`; count(row) is how many it has.
template <typename Count>
void each_part(size_t rows, const VisitRow& visit, Count count) {
  for (size_t i = 0; i < rows; ++i) {
    const size_t parts = count(i);
    for (size_t part = 0; part < parts; ++part) {
      if (!visit({.index = i, .part = part})) return;
    }
  }
}

}  // namespace tensorscope::tables
