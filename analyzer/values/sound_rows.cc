// SPDX-License-Identifier: Apache-2.0
#include "values/sound_rows.h"

#include <algorithm>

namespace tensorscope::values {

namespace {

bool in_sizes(const flatbuffers::Vector<int64_t>* sizes, uint32_t first, uint8_t count) {
  if (count == 0) return true;
  if (first > size_of(sizes) || count > size_of(sizes) - first) return false;
  const int64_t* begin = sizes->data() + first;
  return std::all_of(begin, begin + count, [](int64_t size) { return size >= 0; });
}

}  // namespace

// Counts of a part are within the whole; a sum that overflows is not.
bool sound_statistics(const format::ValueStatistics& in) {
  uint64_t bad = 0;
  return !__builtin_add_overflow(in.nan(), in.positive_infinity(), &bad) &&
         !__builtin_add_overflow(bad, in.negative_infinity(), &bad) && bad <= in.count() &&
         in.zeros() <= in.count() - bad;
}

bool sound_row(const format::ValueRow& row, const format::ValueBatch& batch, size_t strings) {
  if (row.serial() == 0 || row.kind() > format::ValueKind::MAX) return false;
  for (uint32_t text : {row.name(), row.module_(), row.operation(), row.site(), row.note()}) {
    if (text >= strings) return false;
  }
  if (!in_sizes(batch.sizes(), row.shape(), row.ndim())) return false;
  if (has(row.flags(), format::ValueFlag::sliced) && !in_sizes(batch.sizes(), row.kept_shape(), row.kept_ndim())) {
    return false;
  }
  if (has(row.flags(), format::ValueFlag::statistics)) {
    if (row.statistics() >= size_of(batch.statistics())) return false;
    if (!sound_statistics(*batch.statistics()->Get(row.statistics()))) return false;
  }
  uint64_t end = 0;
  if (__builtin_add_overflow(row.data_begin(), row.data_size(), &end)) return false;
  return !has(row.flags(), format::ValueFlag::unchanged) || (row.same_as() != 0 && row.same_as() < row.serial());
}

bool sound_call(const format::CallRow& row, size_t strings) {
  return row.id() != 0 && row.module_() < strings && row.class_name() < strings && row.site() < strings;
}

}  // namespace tensorscope::values
