// SPDX-License-Identifier: Apache-2.0
// Elements of any dtype as doubles, and doubles as elements of a floating-point dtype.
//
// Context: any. No memory is allocated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "torch/metadata/tensor_layout.h"

namespace tensorscope::tensor_values {

bool is_known_dtype(int dtype);

// Complex numbers by their magnitude, booleans as 0 and 1. False: a dtype that is not known.
bool numbers_of(int dtype, const void* elements, int64_t count, double* out);

// The same in blocks, so that nothing is allocated: calls f(numbers, count) for one after the other.
template <typename F>
void each_block_of_numbers(int dtype, const void* elements, int64_t count, F f) {
  constexpr int64_t kBlock = 256;
  alignas(32) double block[kBlock];
  const size_t itemsize = size_t(torch::element_size(dtype));
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t now = std::min(count - done, kBlock);
    numbers_of(dtype, static_cast<const char*>(elements) + size_t(done) * itemsize, now, block);
    f(static_cast<const double*>(block), now);
  }
}

// float16, bfloat16, float32 and float64, rounded to the nearest (ties to even). False: another dtype.
bool elements_of(int dtype, const double* numbers, int64_t count, void* out);

}  // namespace tensorscope::tensor_values
