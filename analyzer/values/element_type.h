// The elements of tensors, of every dtype, as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorscope::values {

// c10::ScalarType: codes are never reused.
enum Dtype : int {
  kUint8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kComplex32 = 8,
  kComplex64 = 9,
  kComplex128 = 10,
  kBool = 11,
  kBfloat16 = 15,
  kFloat8E5M2 = 23,
  kFloat8E4M3 = 24,
  kFloat8E5M2Fnuz = 25,
  kFloat8E4M3Fnuz = 26,
  kUint16 = 27,
  kUint32 = 28,
  kUint64 = 29,
  kFloat8E8M0 = 44,
};

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
