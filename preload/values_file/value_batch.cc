// SPDX-License-Identifier: Apache-2.0
#include "values_file/value_batch.h"

#include <string.h>

#include "tensor_values/element_numbers.h"
#include "torch/metadata/tensor_layout.h"

namespace tensorscope::values_file {

namespace {

using format::ValueFlag;
using tensor_values::TensorView;

void copy_elements(const TensorView& view, uint8_t* to) {
  tensor_values::each_piece(view, [&](const void* elements, int64_t count) {
    const size_t size = size_t(count) * size_t(view.itemsize);
    memcpy(to, elements, size);
    to += size;
  });
}

void convert_elements(const TensorView& view, int stored_dtype, uint8_t* to) {
  const size_t stored = size_t(torch::element_size(stored_dtype));
  tensor_values::each_piece(view, [&](const void* elements, int64_t count) {
    tensor_values::each_block_of_numbers(view.dtype, elements, count, [&](const double* numbers, int64_t now) {
      tensor_values::elements_of(stored_dtype, numbers, now, to);
      to += size_t(now) * stored;
    });
  });
}

bool append_elements(PageArray<uint8_t>& data, const TensorView& view, int stored_dtype) {
  const bool converted = stored_dtype != view.dtype;
  const size_t itemsize = size_t(converted ? torch::element_size(stored_dtype) : view.itemsize);
  uint8_t* const begin = data.add_unwritten(size_t(view.numel) * itemsize);
  if (!begin) return false;
  converted ? convert_elements(view, stored_dtype, begin) : copy_elements(view, begin);
  return true;
}

bool append_series(ValueBatch& batch, uint64_t value, std::span<const ValueParts::Series> all) {
  for (const ValueParts::Series& each : all) {
    const SeriesRow row = {value, each.what, batch.numbers.size(), each.count};
    if (!batch.numbers.append(each.numbers, each.count) || !batch.series.push(row)) return false;
  }
  return true;
}

}  // namespace

format::ValueStatistics statistics_row(const tensor_values::Statistics& statistics, uint64_t hash) {
  format::ValueStatistics row;
  row.mutate_count(statistics.count);
  row.mutate_nan(statistics.nan);
  row.mutate_positive_infinity(statistics.positive_infinity);
  row.mutate_negative_infinity(statistics.negative_infinity);
  row.mutate_zeros(statistics.zeros);
  row.mutate_minimum(statistics.minimum);
  row.mutate_maximum(statistics.maximum);
  row.mutate_mean(statistics.mean);
  row.mutate_deviation(statistics.deviation);
  row.mutate_sum(statistics.sum);
  row.mutate_l1(statistics.l1);
  row.mutate_l2(statistics.l2);
  row.mutate_hash(hash);
  return row;
}

bool ValueBatch::add_value(format::ValueRow& row, const ValueParts& parts, bool with_elements) {
  auto flags = uint16_t(row.flags());
  bool good = true;
  if (parts.view) {
    row.mutate_shape(uint32_t(sizes.size()));
    row.mutate_ndim(uint8_t(parts.view->ndim));
    good = sizes.append(parts.view->sizes, size_t(parts.view->ndim));
  }
  if (good && parts.statistics) {
    row.mutate_statistics(uint32_t(statistics.size()));
    flags |= uint16_t(ValueFlag::statistics);
    good = statistics.push(statistics_row(*parts.statistics, parts.hash));
  }
  const size_t begin = data.size();
  if (good && with_elements) {
    const TensorView& kept = parts.kept ? *parts.kept : *parts.view;
    if (parts.kept) {
      row.mutate_kept_shape(uint32_t(sizes.size()));
      row.mutate_kept_ndim(uint8_t(kept.ndim));
      flags |= uint16_t(ValueFlag::sliced);
      good = sizes.append(kept.sizes, size_t(kept.ndim));
    }
    good = good && append_elements(data, kept, row.stored_dtype());
  } else if (good && !parts.text.empty()) {
    good = data.append(reinterpret_cast<const uint8_t*>(parts.text.data()), parts.text.size());
  }
  if (with_elements || data.size() > begin) {
    row.mutate_data_begin(begin);
    row.mutate_data_size(data.size() - begin);
    flags |= uint16_t(ValueFlag::elements);
  }
  row.mutate_flags(flags);
  return good && append_series(*this, row.serial(), parts.series) && rows.push(row);
}

bool ValueBatch::add_finding(const void* flatbuffer, size_t size) {
  const uint64_t length = size;
  const size_t before = findings.size();
  if (findings.append(reinterpret_cast<const uint8_t*>(&length), sizeof length) &&
      findings.append(static_cast<const uint8_t*>(flatbuffer), size)) {
    return true;
  }
  findings.resize(before);
  return false;
}

}  // namespace tensorscope::values_file
