#include "watch/statistics.h"

#include <math.h>
#include <string.h>

#include <algorithm>

// Vectors are passed between functions of this file alone, all of them inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tensorscope::watch {

namespace {

// c10::ScalarType (torch/headeronly/core/ScalarType.h, 2.13).
enum Dtype : int {
  kUint8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kComplexHalf = 8,
  kComplexFloat = 9,
  kComplexDouble = 10,
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

constexpr int64_t kBlock = 256;  // elements that are converted at a time
constexpr int kLanes = 4;
using Numbers = double __attribute__((vector_size(kLanes * sizeof(double))));
using Flags = long long __attribute__((vector_size(kLanes * sizeof(double))));

// Sums are taken of the distance to one element, so that a large mean does not eat the deviation.
struct Sums {
  Numbers shift = {};
  Numbers sum = {}, squares = {}, magnitudes = {};
  Numbers minimum = Numbers{} + __builtin_inf(), maximum = Numbers{} - __builtin_inf();
  Flags nan = {}, infinite = {}, positive = {}, zeros = {};  // counted downwards: a flag that is set is -1
  bool shifted = false;
};

[[gnu::always_inline]] inline Numbers chosen(const Flags& flags, const Numbers& numbers,
                                             const Numbers& others = Numbers{}) {
  return reinterpret_cast<Numbers>((flags & reinterpret_cast<Flags>(numbers)) |
                                   (~flags & reinterpret_cast<Flags>(others)));
}

[[gnu::always_inline]] inline void add_lanes(Sums& sums, const Numbers& x, const Flags& present) {
  const Flags not_a_number = (x != x) & present;
  const Flags finite = ((x - x) == Numbers{}) & present;
  const Flags infinite = present & ~finite & ~not_a_number;
  const Numbers value = chosen(finite, x), moved = chosen(finite, x - sums.shift);
  sums.nan += not_a_number;
  sums.infinite += infinite;
  sums.positive += infinite & (x > Numbers{});
  sums.zeros += (x == Numbers{}) & present;
  sums.sum += moved;
  sums.squares += moved * moved;
  sums.magnitudes += reinterpret_cast<Numbers>(reinterpret_cast<Flags>(value) & (Flags{} + INT64_MAX));
  const Flags less = finite & (x < sums.minimum), more = finite & (x > sums.maximum);
  sums.minimum = chosen(less, x, sums.minimum);
  sums.maximum = chosen(more, x, sums.maximum);
}

template <typename Elements, typename T>
[[gnu::always_inline]] inline void add_numbers(Sums& sums, const T* x, int64_t count) {
  for (int64_t i = 0; !sums.shifted && i < count; ++i) {
    if (const double first = double(x[i]); first - first == 0) sums.shift = Numbers{} + first, sums.shifted = true;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Elements four;
    memcpy(&four, x + i, sizeof four);
    add_lanes(sums, __builtin_convertvector(four, Numbers), Flags{} - 1);
  }
  Numbers rest = {};
  Flags present = {};
  for (int lane = 0; i < count; ++i, ++lane) {
    rest[lane] = double(x[i]);
    present[lane] = -1;
  }
  if (present[0]) add_lanes(sums, rest, present);
}

using FourFloats = float __attribute__((vector_size(kLanes * sizeof(float))));

void add_floats_plain(Sums& sums, const float* x, int64_t count) { add_numbers<FourFloats>(sums, x, count); }
void add_doubles_plain(Sums& sums, const double* x, int64_t count) { add_numbers<Numbers>(sums, x, count); }
#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void add_floats_wide(Sums& sums, const float* x, int64_t count) {
  add_numbers<FourFloats>(sums, x, count);
}
[[gnu::target("avx2,fma")]] void add_doubles_wide(Sums& sums, const double* x, int64_t count) {
  add_numbers<Numbers>(sums, x, count);
}
bool has_wide() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#else
constexpr auto add_floats_wide = add_floats_plain;
constexpr auto add_doubles_wide = add_doubles_plain;
bool has_wide() { return false; }
#endif

void add(Sums& sums, const float* x, int64_t count) {
  has_wide() ? add_floats_wide(sums, x, count) : add_floats_plain(sums, x, count);
}
void add(Sums& sums, const double* x, int64_t count) {
  has_wide() ? add_doubles_wide(sums, x, count) : add_doubles_plain(sums, x, count);
}

float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

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
  if (!kUnsignedZero && !kInfinities && exponent == kExponentMask && mantissa == kMantissaMask)
    return __builtin_nanf("");
  const float value = exponent == 0
                          ? ldexpf(float(mantissa), 1 - kBias - kMantissaBits)
                          : ldexpf(float(mantissa | 1u << kMantissaBits), int(exponent) - kBias - kMantissaBits);
  return sign ? -value : value;
}

float from_half(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest < 0x0400) return from_bits(sign) + (sign ? -1 : 1) * float(rest) * 0x1p-24f;
  return from_bits(sign | ((rest << 13) + (uint32_t(127 - 15) << 23)));
}

template <typename T, typename Number, typename Convert>
void add_converted(Sums& sums, const T* x, int64_t count, Convert convert) {
  alignas(32) Number block[kBlock];
  while (count > 0) {
    const int64_t now = std::min(count, kBlock);
    for (int64_t i = 0; i < now; ++i) block[i] = convert(x[i]);
    add(sums, block, now);
    x += now;
    count -= now;
  }
}

template <typename T>
void add_as_double(Sums& sums, const void* x, int64_t count) {
  add_converted<T, double>(sums, static_cast<const T*>(x), count, [](T value) { return double(value); });
}
template <typename T>
void add_as_float(Sums& sums, const void* x, int64_t count) {
  add_converted<T, float>(sums, static_cast<const T*>(x), count, [](T value) { return float(value); });
}
float from_exponent(uint32_t bits) { return bits == 255 ? __builtin_nanf("") : ldexpf(1, int(bits) - 127); }

template <float (*kConvert)(uint32_t)>
void add_small(Sums& sums, const void* x, int64_t count) {
  static float table[256];
  static bool made = false;
  if (!__atomic_load_n(&made, __ATOMIC_ACQUIRE)) {
    for (uint32_t i = 0; i < 256; ++i) table[i] = kConvert(i);
    __atomic_store_n(&made, true, __ATOMIC_RELEASE);
  }
  add_converted<uint8_t, float>(sums, static_cast<const uint8_t*>(x), count, [](uint8_t bits) { return table[bits]; });
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

using Add = void (*)(Sums&, const void*, int64_t);

Add adder_of(int dtype) {
  switch (dtype) {
    case kUint8:
    case kBool:
      return add_as_float<uint8_t>;
    case kInt8:
      return add_as_float<int8_t>;
    case kInt16:
      return add_as_float<int16_t>;
    case kUint16:
      return add_as_float<uint16_t>;
    case kInt32:
      return add_as_double<int32_t>;
    case kUint32:
      return add_as_double<uint32_t>;
    case kInt64:
      return add_as_double<int64_t>;
    case kUint64:
      return add_as_double<uint64_t>;
    case kFloat:
      return [](Sums& sums, const void* x, int64_t count) { add(sums, static_cast<const float*>(x), count); };
    case kDouble:
      return [](Sums& sums, const void* x, int64_t count) { add(sums, static_cast<const double*>(x), count); };
    case kHalf:
      return [](Sums& sums, const void* x, int64_t count) {
        add_converted<uint16_t, float>(sums, static_cast<const uint16_t*>(x), count, from_half);
      };
    case kBfloat16:
      return [](Sums& sums, const void* x, int64_t count) {
        add_converted<uint16_t, float>(sums, static_cast<const uint16_t*>(x), count,
                                       [](uint16_t bits) { return from_bits(uint32_t(bits) << 16); });
      };
    case kComplexHalf:
      return [](Sums& sums, const void* x, int64_t count) {
        add_converted<HalfPair, double>(sums, static_cast<const HalfPair*>(x), count, [](HalfPair z) {
          return magnitude(double(from_half(z.real)), double(from_half(z.imaginary)));
        });
      };
    case kComplexFloat:
      return [](Sums& sums, const void* x, int64_t count) {
        add_converted<FloatPair, double>(sums, static_cast<const FloatPair*>(x), count,
                                         [](FloatPair z) { return magnitude(double(z.real), double(z.imaginary)); });
      };
    case kComplexDouble:
      return [](Sums& sums, const void* x, int64_t count) {
        add_converted<DoublePair, double>(sums, static_cast<const DoublePair*>(x), count,
                                          [](DoublePair z) { return magnitude(z.real, z.imaginary); });
      };
    case kFloat8E5M2:
      return add_small<small_float<5, 2, 15, true, false>>;
    case kFloat8E4M3:
      return add_small<small_float<4, 3, 7, false, false>>;
    case kFloat8E5M2Fnuz:
      return add_small<small_float<5, 2, 16, false, true>>;
    case kFloat8E4M3Fnuz:
      return add_small<small_float<4, 3, 8, false, true>>;
    case kFloat8E8M0:
      return add_small<from_exponent>;
    default:
      return nullptr;
  }
}

template <typename Lanes>
auto total(const Lanes& lanes) {
  auto sum = lanes[0];
  for (int i = 1; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

void finish(const Sums& sums, uint64_t count, Statistics& out) {
  out.count = count;
  out.nan = uint64_t(-total(sums.nan));
  out.positive_infinity = uint64_t(-total(sums.positive));
  out.negative_infinity = uint64_t(-total(sums.infinite)) - out.positive_infinity;
  out.zeros = uint64_t(-total(sums.zeros));
  const double n = double(out.finite());
  if (n == 0) return;
  const double shift = sums.shift[0], sum = total(sums.sum), squares = total(sums.squares);
  out.minimum = out.maximum = sums.minimum[0];
  out.maximum = sums.maximum[0];
  for (int i = 1; i < kLanes; ++i) {
    out.minimum = std::min(out.minimum, double(sums.minimum[i]));
    out.maximum = std::max(out.maximum, double(sums.maximum[i]));
  }
  out.sum = sum + n * shift;
  out.mean = shift + sum / n;
  out.deviation = n > 1 ? sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1))) : 0;
  out.l1 = total(sums.magnitudes);
  out.l2 = sqrt(std::max(0.0, squares + 2 * shift * sum + n * shift * shift));
}

struct Pass {
  Add add;
  Sums sums;
};

}  // namespace

void each_piece(const TensorView& view, void (*f)(const void*, int64_t, void*), void* context) {
  if (view.numel == 0) return;
  if (view.contiguous) return f(view.data, view.numel, context);
  // Rows of the last dimension are gathered; of all before it, one index each.
  constexpr int kMostDims = 64, kPieceBytes = 4096;
  int64_t at[kMostDims] = {};
  alignas(32) char piece[kPieceBytes];
  const int64_t room = kPieceBytes / view.itemsize;
  const int64_t width = view.sizes[view.ndim - 1], stride = view.strides[view.ndim - 1] * view.itemsize;
  const char* row = static_cast<const char*>(view.data);
  int64_t filled = 0;
  for (int64_t done = 0; done < view.numel; done += width) {
    const char* element = row;
    for (int64_t i = 0; i < width; ++i, element += stride) {
      memcpy(piece + filled * view.itemsize, element, size_t(view.itemsize));
      if (++filled == room) {
        f(piece, filled, context);
        filled = 0;
      }
    }
    for (int dim = view.ndim - 2; dim >= 0; --dim) {
      row += view.strides[dim] * view.itemsize;
      if (++at[dim] < view.sizes[dim]) break;
      row -= view.sizes[dim] * view.strides[dim] * view.itemsize;
      at[dim] = 0;
    }
  }
  if (filled > 0) f(piece, filled, context);
}

bool statistics_of(const TensorView& view, Statistics& out) {
  Pass pass = {adder_of(view.dtype), {}};
  if (pass.add == nullptr) return false;
  each_piece(
      view,
      [](const void* elements, int64_t count, void* context) {
        auto* pass = static_cast<Pass*>(context);
        pass->add(pass->sums, elements, count);
      },
      &pass);
  out = {};
  finish(pass.sums, uint64_t(view.numel), out);
  return true;
}

}  // namespace tensorscope::watch
