// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/tensor_slice.h"

#include <algorithm>

namespace tensorscope::tensor_values {

bool TensorSlice::take(const TensorView& whole, const std::vector<rules::SliceStep>& slice) {
  if (slice.size() > size_t(whole.ndim) || whole.ndim > kMaxDimensions) return false;
  view_ = whole;
  view_.sizes = sizes_;
  view_.strides = strides_;
  view_.ndim = 0;
  view_.numel = 1;
  int64_t offset = 0;
  for (int dim = 0; dim < whole.ndim; ++dim) {
    const int64_t size = whole.sizes[dim], stride = whole.strides[dim];
    const rules::SliceStep step = size_t(dim) < slice.size() ? slice[size_t(dim)] : rules::SliceStep{};
    const auto position = [&](int64_t index) { return std::clamp(index < 0 ? index + size : index, int64_t{0}, size); };
    if (step.is_index) {
      const int64_t index = step.begin < 0 ? step.begin + size : step.begin;
      if (index < 0 || index >= size) return false;
      offset += index * stride;
      continue;
    }
    const int64_t begin = position(step.begin), end = std::max(begin, position(step.end));
    offset += begin * stride;
    // A step may be any number: only one that is smaller than the dimension is multiplied.
    sizes_[view_.ndim] = end == begin ? 0 : (end - begin - 1) / step.every + 1;
    strides_[view_.ndim] = sizes_[view_.ndim] > 1 ? stride * step.every : stride;
    view_.numel *= sizes_[view_.ndim++];
  }
  if (view_.numel != 0) view_.data = static_cast<const char*>(whole.data) + offset * whole.itemsize;
  int64_t expected = 1;
  view_.contiguous = true;
  for (int dim = view_.ndim - 1; dim >= 0; --dim) {
    view_.contiguous &= sizes_[dim] == 1 || strides_[dim] == expected;
    expected *= sizes_[dim];
  }
  return true;
}

}  // namespace tensorscope::tensor_values
