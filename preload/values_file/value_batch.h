// SPDX-License-Identifier: Apache-2.0
// Values, calls and findings that wait to be written.
//
// Context: under the lock of who keeps it. No malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/page_array.h"
#include "values_file/value_parts.h"
#include "values_generated.h"

namespace tensorscope::values_file {

inline constexpr size_t kMaxRows = size_t{1} << 16;  // of one chunk, as its reader wants it

// `hash`: of the elements; 0: not asked for.
format::ValueStatistics statistics_row(const tensor_values::Statistics& statistics, uint64_t hash = 0);

struct SeriesRow {
  uint64_t value;  // its serial
  const char* what;
  size_t begin, count;  // in Batch::numbers
};

struct ValueBatch {
  PageArray<format::ValueRow> rows;
  PageArray<format::ValueStatistics> statistics;
  PageArray<int64_t> sizes;
  PageArray<uint8_t> data;
  PageArray<SeriesRow> series;
  PageArray<double> numbers;
  PageArray<format::CallRow> calls;
  PageArray<uint8_t> findings;  // one after the other, each behind its size
  uint32_t texts = 0;           // how many the pool had

  size_t bytes() const {
    return data.size() + rows.size() * sizeof(format::ValueRow) + calls.size() * sizeof(format::CallRow) +
           numbers.size() * sizeof(double);
  }
  bool empty() const { return rows.empty() && calls.empty() && findings.empty(); }

  // The row with its parts; it gets their places. False: no memory.
  bool add_value(format::ValueRow& row, const ValueParts& parts, bool with_elements);
  bool add_finding(const void* flatbuffer, size_t size);
};

}  // namespace tensorscope::values_file
