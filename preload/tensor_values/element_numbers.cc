// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/element_numbers.h"

#include <math.h>
#include <string.h>

#include "tensorscope/rules/dtypes.h"
#include "tensorscope/rules/small_floats.h"

namespace tensorscope::tensor_values {

using enum rules::Dtype;

namespace {

template <float (*kConvert)(uint32_t)>
double from_table(uint8_t bits) {
  static float table[256];
  static bool made = false;
  if (!__atomic_load_n(&made, __ATOMIC_ACQUIRE)) {
    for (uint32_t i = 0; i < 256; ++i) table[i] = kConvert(i);
    __atomic_store_n(&made, true, __ATOMIC_RELEASE);
  }
  return double(table[bits]);
}

double magnitude(double real, double imaginary) {
  if (real != real || imaginary != imaginary) return __builtin_nan("");
  return hypot(real, imaginary);
}

struct HalfPair {
  uint16_t real, imaginary;
};
struct FloatPair {
  float real, imaginary;
};
struct DoublePair {
  double real, imaginary;
};

template <typename T, typename Convert>
bool convert_all(const void* elements, int64_t count, double* out, Convert convert) {
  const T* x = static_cast<const T*>(elements);
  for (int64_t i = 0; i < count; ++i) out[i] = convert(x[i]);
  return true;
}
template <typename T>
bool convert_plain(const void* elements, int64_t count, double* out) {
  return convert_all<T>(elements, count, out, [](T x) { return double(x); });
}
template <float (*kConvert)(uint32_t)>
bool convert_small(const void* elements, int64_t count, double* out) {
  return convert_all<uint8_t>(elements, count, out, from_table<kConvert>);
}

uint16_t bfloat16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t half_of(double value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  if (value != value) return uint16_t(sign | 0x7e00);
  constexpr double kFirstInfinite = 65520;  // halfway between the largest number and the next, which is not there
  if (fabs(value) >= kFirstInfinite) return uint16_t(sign | 0x7c00);
  // Neighbours lie a power of two apart.
  int exponent = 0;
  frexp(fabs(value), &exponent);
  constexpr int kMantissaBits = 10, kSmallestExponent = -14;
  const int step = (exponent - 1 < kSmallestExponent ? kSmallestExponent : exponent - 1) - kMantissaBits;
  const double steps = nearbyint(ldexp(fabs(value), -step));
  const double rounded = ldexp(steps, step);
  if (rounded < 0x1p-14) return uint16_t(sign | uint16_t(rounded * 0x1p24));
  int own = 0;
  const double fraction = frexp(rounded, &own);  // from 0.5 to 1
  constexpr int kBias = 15;
  return uint16_t(sign | uint16_t((own - 1 + kBias) << kMantissaBits) | uint16_t((fraction * 2 - 1) * 1024));
}

}  // namespace

bool is_known_dtype(int dtype) { return numbers_of(dtype, nullptr, 0, nullptr); }

bool numbers_of(int dtype, const void* elements, int64_t count, double* out) {
  switch (dtype) {
    case kUint8:
    case kBool:
      return convert_plain<uint8_t>(elements, count, out);
    case kInt8:
      return convert_plain<int8_t>(elements, count, out);
    case kInt16:
      return convert_plain<int16_t>(elements, count, out);
    case kUint16:
      return convert_plain<uint16_t>(elements, count, out);
    case kInt32:
      return convert_plain<int32_t>(elements, count, out);
    case kUint32:
      return convert_plain<uint32_t>(elements, count, out);
    case kInt64:
      return convert_plain<int64_t>(elements, count, out);
    case kUint64:
      return convert_plain<uint64_t>(elements, count, out);
    case kFloat32:
      return convert_plain<float>(elements, count, out);
    case kFloat64:
      return convert_plain<double>(elements, count, out);
    case kFloat16:
      return convert_all<uint16_t>(elements, count, out, [](uint16_t x) { return double(rules::float_of_half(x)); });
    case kBfloat16:
      return convert_all<uint16_t>(elements, count, out,
                                   [](uint16_t bits) { return double(rules::float_of_bfloat16(bits)); });
    case kComplex32:
      return convert_all<HalfPair>(elements, count, out, [](HalfPair z) {
        return magnitude(double(rules::float_of_half(z.real)), double(rules::float_of_half(z.imaginary)));
      });
    case kComplex64:
      return convert_all<FloatPair>(elements, count, out,
                                    [](FloatPair z) { return magnitude(double(z.real), double(z.imaginary)); });
    case kComplex128:
      return convert_all<DoublePair>(elements, count, out, [](DoublePair z) { return magnitude(z.real, z.imaginary); });
    case kFloat8E5M2:
      return convert_small<rules::float_of_e5m2>(elements, count, out);
    case kFloat8E4M3:
      return convert_small<rules::float_of_e4m3>(elements, count, out);
    case kFloat8E5M2Fnuz:
      return convert_small<rules::float_of_e5m2fnuz>(elements, count, out);
    case kFloat8E4M3Fnuz:
      return convert_small<rules::float_of_e4m3fnuz>(elements, count, out);
    case kFloat8E8M0:
      return convert_small<rules::float_of_e8m0>(elements, count, out);
    default:
      return false;
  }
}

bool elements_of(int dtype, const double* numbers, int64_t count, void* out) {
  switch (dtype) {
    case kFloat16:
      for (int64_t i = 0; i < count; ++i) static_cast<uint16_t*>(out)[i] = half_of(numbers[i]);
      return true;
    case kBfloat16:
      for (int64_t i = 0; i < count; ++i) static_cast<uint16_t*>(out)[i] = bfloat16_of(float(numbers[i]));
      return true;
    case kFloat32:
      for (int64_t i = 0; i < count; ++i) static_cast<float*>(out)[i] = float(numbers[i]);
      return true;
    case kFloat64:
      memcpy(out, numbers, size_t(count) * sizeof(double));
      return true;
    default:
      return false;
  }
}

}  // namespace tensorscope::tensor_values
