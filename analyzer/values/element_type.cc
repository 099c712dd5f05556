#include "values/element_type.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tensorscope::values {

namespace {

template <typename T>
T at(const void* elements, size_t index) {
  T out;
  std::memcpy(&out, static_cast<const char*>(elements) + index * sizeof(T), sizeof out);
  return out;
}

float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }

// A number of `exponent_bits` and `mantissa_bits` with the usual bias; its largest exponent is not special here.
double plain(uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1 : 1;
  const double fraction = std::ldexp(double(mantissa), -mantissa_bits);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, int(exponent) - bias));
}

// With infinities and NaN at the largest exponent.
double ieee(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const uint32_t largest = (1u << exponent_bits) - 1;
  if (((bits >> mantissa_bits) & largest) != largest) {
    return plain(bits, exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1);
  }
  if (bits & ((1u << mantissa_bits) - 1)) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return (bits >> (exponent_bits + mantissa_bits)) & 1 ? -infinity : infinity;
}

double half(uint16_t bits) { return ieee(bits, 5, 10); }

double float8(int dtype, uint8_t bits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  switch (dtype) {
    case kFloat8E5M2:
      return ieee(bits, 5, 2);
    case kFloat8E4M3:
      return (bits & 0x7f) == 0x7f ? nan : plain(bits, 4, 3, 7);
    case kFloat8E5M2Fnuz:
      return bits == 0x80 ? nan : plain(bits, 5, 2, 16);
    case kFloat8E4M3Fnuz:
      return bits == 0x80 ? nan : plain(bits, 4, 3, 8);
    default:  // E8M0: an exponent alone
      return bits == 0xff ? nan : std::ldexp(1.0, int(bits) - 127);
  }
}

}  // namespace

size_t element_size(int dtype) {
  switch (dtype) {
    case kUint8:
    case kInt8:
    case kBool:
    case kFloat8E5M2:
    case kFloat8E4M3:
    case kFloat8E5M2Fnuz:
    case kFloat8E4M3Fnuz:
    case kFloat8E8M0:
      return 1;
    case kInt16:
    case kFloat16:
    case kBfloat16:
    case kUint16:
      return 2;
    case kInt32:
    case kFloat32:
    case kComplex32:
    case kUint32:
      return 4;
    case kInt64:
    case kFloat64:
    case kComplex64:
    case kUint64:
      return 8;
    case kComplex128:
      return 16;
    default:
      return 0;
  }
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
      return half(at<uint16_t>(elements, index));
    case kFloat32:
      return at<float>(elements, index);
    case kFloat64:
      return at<double>(elements, index);
    case kComplex32:
      return half(at<uint16_t>(elements, 2 * index));
    case kComplex64:
      return at<float>(elements, 2 * index);
    case kComplex128:
      return at<double>(elements, 2 * index);
    case kBfloat16:
      return as_float(uint32_t(at<uint16_t>(elements, index)) << 16);
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
      return half(at<uint16_t>(elements, 2 * index + 1));
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
