// SPDX-License-Identifier: Apache-2.0
// What the elements of a tensor are like, in one pass.
//
// Context: as tensor_view.h. No memory is allocated, no lock taken.
#pragma once

#include <cstdint>

#include "support/function_ref.h"
#include "tensor_values/tensor_view.h"

namespace tensorscope::tensor_values {

// Minimum to norms are those of the finite elements; complex numbers count by their magnitude, booleans as 0 and 1.
struct Statistics {
  uint64_t count = 0, nan = 0, positive_infinity = 0, negative_infinity = 0, zeros = 0;
  double minimum = 0, maximum = 0, mean = 0, deviation = 0;  // deviation: of a sample (divided by count - 1)
  double sum = 0, l1 = 0, l2 = 0;

  uint64_t finite() const { return count - nan - positive_infinity - negative_infinity; }
};

// False: a dtype that is not known.
bool statistics_of(const TensorView& view, Statistics& out);

// Sums that are taken somewhere else, of the distance of the finite elements to `shift`.
struct Reduced {
  uint64_t finite = 0, nan = 0, positive_infinity = 0, zeros = 0;
  double sum = 0, squares = 0, shift = 0;
  double l1 = 0, minimum = 0, maximum = 0;
};
Statistics statistics_from(const Reduced& reduced, uint64_t count);

// Calls f(elements, count) for pieces of the elements in their order, each a contiguous array of the tensor's dtype.
void each_piece(const TensorView& view, FunctionRef<void(const void* elements, int64_t count)> f);

}  // namespace tensorscope::tensor_values
