// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of 8 and 16 bits as float, which holds each of them.
//
// Context: any.
#pragma once

#include <math.h>

#include <bit>
#include <cstdint>

namespace tensorscope::rules {

// A small floating-point number of one sign bit. `infinities`: the largest exponent is theirs and of the NaNs; without
// them all ones are NaN, and in the forms without a negative zero that pattern alone.
template <int kExponentBits, int kMantissaBits, int kBias, bool kInfinities, bool kUnsignedZero>
float small_float(uint32_t bits) {
  constexpr uint32_t kMantissaMask = (1u << kMantissaBits) - 1, kExponentMask = (1u << kExponentBits) - 1;
  const uint32_t sign = bits >> (kExponentBits + kMantissaBits) & 1;
  const uint32_t exponent = bits >> kMantissaBits & kExponentMask, mantissa = bits & kMantissaMask;
  if (kUnsignedZero && sign == 1 && exponent == 0 && mantissa == 0) return __builtin_nanf("");
  if (!kUnsignedZero && kInfinities && exponent == kExponentMask) {
    return mantissa != 0 ? __builtin_nanf("") : sign ? -__builtin_inff() : __builtin_inff();
  }
  if (!kUnsignedZero && !kInfinities && exponent == kExponentMask && mantissa == kMantissaMask) {
    return __builtin_nanf("");
  }
  const float value = exponent == 0
                          ? ldexpf(float(mantissa), 1 - kBias - kMantissaBits)
                          : ldexpf(float(mantissa | 1u << kMantissaBits), int(exponent) - kBias - kMantissaBits);
  return sign ? -value : value;
}

inline float float_of_e5m2(uint32_t bits) { return small_float<5, 2, 15, true, false>(bits); }
inline float float_of_e4m3(uint32_t bits) { return small_float<4, 3, 7, false, false>(bits); }
inline float float_of_e5m2fnuz(uint32_t bits) { return small_float<5, 2, 16, false, true>(bits); }
inline float float_of_e4m3fnuz(uint32_t bits) { return small_float<4, 3, 8, false, true>(bits); }
// An exponent alone.
inline float float_of_e8m0(uint32_t bits) { return bits == 255 ? __builtin_nanf("") : ldexpf(1, int(bits) - 127); }

inline float float_of_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline float float_of_half(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest < 0x0400) return std::bit_cast<float>(sign) + (sign ? -1.0f : 1.0f) * float(rest) * 0x1p-24f;
  return std::bit_cast<float>(sign | ((rest << 13) + (uint32_t(127 - 15) << 23)));
}

}  // namespace tensorscope::rules
