// SPDX-License-Identifier: Apache-2.0
#include "values/element_type.h"

#include <cstring>

#include "tensorscope/rules/element_size.h"
#include "tensorscope/rules/small_floats.h"

namespace tensorscope::values {

namespace {

template <typename T>
T at(const void* elements, size_t index) {
  T out;
  std::memcpy(&out, static_cast<const char*>(elements) + index * sizeof(T), sizeof out);
  return out;
}

double float8(int dtype, uint8_t bits) {
  switch (dtype) {
    case kFloat8E5M2:
      return rules::float_of_e5m2(bits);
    case kFloat8E4M3:
      return rules::float_of_e4m3(bits);
    case kFloat8E5M2Fnuz:
      return rules::float_of_e5m2fnuz(bits);
    case kFloat8E4M3Fnuz:
      return rules::float_of_e4m3fnuz(bits);
    default:
      return rules::float_of_e8m0(bits);
  }
}

}  // namespace

size_t element_size(int dtype) {
  const bool readable = dtype == kBool || is_complex(dtype) || is_floating(dtype) || is_signed_integer(dtype) ||
                        is_unsigned_integer(dtype);
  return readable ? size_t(rules::element_size(dtype)) : 0;
}

bool is_complex(int dtype) { return dtype >= kComplex32 && dtype <= kComplex128; }
bool is_floating(int dtype) {
  return (dtype >= kFloat16 && dtype <= kFloat64) || dtype == kBfloat16 ||
         (dtype >= kFloat8E5M2 && dtype <= kFloat8E4M3Fnuz) || dtype == kFloat8E8M0;
}
bool is_signed_integer(int dtype) { return dtype >= kInt8 && dtype <= kInt64; }
bool is_unsigned_integer(int dtype) { return dtype == kUint8 || (dtype >= kUint16 && dtype <= kUint64); }

uint64_t element_count(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  bool too_many = false;
  for (int64_t size : shape) {
    if (size <= 0) return 0;
    too_many |= __builtin_mul_overflow(count, uint64_t(size), &count);
  }
  return too_many ? UINT64_MAX : count;
}

double real_of(int dtype, const void* elements, size_t index) {
  switch (dtype) {
    case kUint64:
      return double(at<uint64_t>(elements, index));
    case kFloat16:
      return rules::float_of_half(at<uint16_t>(elements, index));
    case kFloat32:
      return at<float>(elements, index);
    case kFloat64:
      return at<double>(elements, index);
    case kComplex32:
      return rules::float_of_half(at<uint16_t>(elements, 2 * index));
    case kComplex64:
      return at<float>(elements, 2 * index);
    case kComplex128:
      return at<double>(elements, 2 * index);
    case kBfloat16:
      return rules::float_of_bfloat16(at<uint16_t>(elements, index));
    case kFloat8E5M2:
    case kFloat8E4M3:
    case kFloat8E5M2Fnuz:
    case kFloat8E4M3Fnuz:
    case kFloat8E8M0:
      return float8(dtype, at<uint8_t>(elements, index));
    default:
      return double(integer_of(dtype, elements, index));
  }
}

double imaginary_of(int dtype, const void* elements, size_t index) {
  switch (dtype) {
    case kComplex32:
      return rules::float_of_half(at<uint16_t>(elements, 2 * index + 1));
    case kComplex64:
      return at<float>(elements, 2 * index + 1);
    case kComplex128:
      return at<double>(elements, 2 * index + 1);
    default:
      return 0;
  }
}

int64_t integer_of(int dtype, const void* elements, size_t index) {
  switch (dtype) {
    case kUint8:
      return at<uint8_t>(elements, index);
    case kBool:
      return at<uint8_t>(elements, index) != 0;
    case kInt8:
      return at<int8_t>(elements, index);
    case kInt16:
      return at<int16_t>(elements, index);
    case kUint16:
      return at<uint16_t>(elements, index);
    case kInt32:
      return at<int32_t>(elements, index);
    case kUint32:
      return at<uint32_t>(elements, index);
    case kInt64:
    case kUint64:
      return at<int64_t>(elements, index);
    default:
      return 0;
  }
}

}  // namespace tensorscope::values
