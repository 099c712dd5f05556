// Elements of any dtype as doubles, and doubles as elements of a floating-point dtype.
//
// Context: any. No memory is allocated.
#pragma once

#include <cstdint>

namespace tensorscope::watch {

bool is_known_dtype(int dtype);

// Complex numbers by their magnitude, booleans as 0 and 1. False: a dtype that is not known.
bool numbers_of(int dtype, const void* elements, int64_t count, double* out);

// float16, bfloat16, float32 and float64, rounded to the nearest (ties to even). False: another dtype.
bool elements_of(int dtype, const double* numbers, int64_t count, void* out);

}  // namespace tensorscope::watch
