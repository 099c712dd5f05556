// SPDX-License-Identifier: Apache-2.0
// A part of a tensor, as a watch's `slice` says.
//
// Context: any.
#pragma once

#include "tensor_values/tensor_view.h"
#include "tensorscope/rules/watch_spec.h"

namespace tensorscope::tensor_values {

// A view with sizes and strides of its own.
class TensorSlice {
 public:
  // False: the tensor has fewer dimensions than the slice, or an index lies outside.
  bool take(const TensorView& whole, const std::vector<rules::SliceStep>& slice);
  const TensorView& view() const { return view_; }

 private:
  static constexpr int kMaxDimensions = 64;
  int64_t sizes_[kMaxDimensions], strides_[kMaxDimensions];
  TensorView view_;
};

}  // namespace tensorscope::tensor_values
