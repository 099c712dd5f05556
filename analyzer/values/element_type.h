// SPDX-License-Identifier: Apache-2.0
// The elements of tensors, of every dtype, as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorscope/rules/dtypes.h"

namespace tensorscope::values {

using enum rules::Dtype;

// Bytes of an element; 0: a dtype whose elements this program cannot read.
size_t element_size(int dtype);
bool is_complex(int dtype);
bool is_floating(int dtype);  // not complex
bool is_signed_integer(int dtype);
bool is_unsigned_integer(int dtype);  // not bool

// The product of sizes; 0 where one is negative, UINT64_MAX where it is too large.
uint64_t element_count(const std::vector<int64_t>& shape);

// Element `index` of an array. Complex: the real part, and imaginary_of() the other. Of a 64-bit integer the last
// digits are lost above 2^53; integer_of() has them all.
double real_of(int dtype, const void* elements, size_t index);
double imaginary_of(int dtype, const void* elements, size_t index);  // 0 where it is not complex
int64_t integer_of(int dtype, const void* elements, size_t index);   // of an integer or bool; uint64's bits

}  // namespace tensorscope::values
