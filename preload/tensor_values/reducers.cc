// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/reducers.h"

#include <math.h>

#include <algorithm>

#include "tensor_values/element_numbers.h"
#include "tensorscope/values_format.h"

namespace tensorscope::tensor_values {

namespace {

// Calls f(number) for each finite element.
template <typename F>
void each_finite(const TensorView& view, F f) {
  each_piece(view, [&](const void* elements, int64_t count) {
    each_block_of_numbers(view.dtype, elements, count, [&](const double* numbers, int64_t now) {
      for (int64_t i = 0; i < now; ++i) {
        if (numbers[i] - numbers[i] == 0) f(numbers[i]);
      }
    });
  });
}

}  // namespace

bool norms_of(const TensorView& view, PageArray<double>& out) {
  TensorView item = view;
  const int64_t items = view.ndim == 0 ? 1 : view.sizes[0];
  if (items > kMaxItems) return false;
  if (view.ndim > 0) {
    --item.ndim;
    ++item.sizes;
    ++item.strides;
    item.numel = items == 0 ? 0 : view.numel / items;
  }
  for (int64_t i = 0; i < items; ++i) {
    if (view.ndim > 0) {
      item.data = static_cast<const char*>(view.data) + i * view.strides[0] * view.itemsize;
    }
    Statistics statistics;
    if (!statistics_of(item, statistics) || !out.push(statistics.l2)) return false;
  }
  return true;
}

uint64_t hash_of(const TensorView& view) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  each_piece(view, [&](const void* elements, int64_t count) {
    XXH3_64bits_update(&state, elements, size_t(count) * size_t(view.itemsize));
  });
  return XXH3_64bits_digest(&state);
}

bool quantiles_of(const TensorView& view, PageArray<double>& out) {
  PageArray<double> all;
  if (!all.resize(size_t(view.numel))) return false;
  size_t count = 0;
  each_finite(view, [&](double x) { all[count++] = x; });
  if (count == 0) return true;
  size_t sorted_to = 0;
  for (const double point : kQuantilePoints) {
    const double position = point * double(count - 1);
    const size_t below = size_t(position);
    double* const end = all.begin() + count;
    std::nth_element(all.begin() + sorted_to, all.begin() + below, end);
    sorted_to = below;
    const double low = all[below], part = position - double(below);
    const double high = part > 0 ? *std::min_element(all.begin() + below + 1, end) : low;
    if (!out.push(low + (high - low) * part)) return false;
  }
  return true;
}

bool histogram_of(const TensorView& view, const Statistics& statistics, PageArray<double>& out) {
  if (statistics.finite() == 0) return true;
  double low = statistics.minimum, high = statistics.maximum;
  if (low == high) low -= 1, high += 1;
  if (!out.resize(2 + kBins)) return false;
  out[0] = low;
  out[1] = high;
  double* const bins = out.begin() + 2;
  // Halves, so that the difference of two numbers of the largest size is one, too.
  const double width = high / 2 - low / 2;
  if (width == 0) {  // one number so large that 1 more is the same
    bins[kBins / 2] = double(statistics.finite());
    return true;
  }
  each_finite(view, [&](double x) {
    const int bin = int((x / 2 - low / 2) / width * kBins);
    ++bins[std::clamp(bin, 0, kBins - 1)];
  });
  return true;
}

}  // namespace tensorscope::tensor_values
