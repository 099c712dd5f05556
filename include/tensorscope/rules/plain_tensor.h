// SPDX-License-Identifier: Apache-2.0
// A tensor of c10::TensorImpl itself, as against those of classes derived from it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::rules {

// As std::type_info names the class.
inline constexpr char kPlainTensorClass[] = "N3c1010TensorImplE";

// Strides of a dense tensor in the usual order, as torch sets them (c10/core/TensorImpl.h, empty_tensor_restride):
// `strides` has room for `ndim`. What does not fit into 64 bits is 0.
inline void usual_strides(const int64_t* sizes, size_t ndim, int64_t* strides) {
  int64_t stride = 1;
  for (size_t i = ndim; i-- > 0;) {
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, sizes[i] > 1 ? sizes[i] : 1, &stride)) stride = 0;
  }
}

}  // namespace tensorscope::rules
