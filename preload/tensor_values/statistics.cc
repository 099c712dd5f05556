// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/statistics.h"

#include <math.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>

#include "tensor_values/element_numbers.h"
#include "tensorscope/rules/dtypes.h"

// Vectors are passed between functions of this file alone, all of them inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tensorscope::tensor_values {

using enum rules::Dtype;

namespace {

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

template <typename Lanes>
auto total(const Lanes& lanes) {
  auto sum = lanes[0];
  for (int i = 1; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

template <typename T>
void find_shift(Sums& sums, const T* x, int64_t count) {
  for (int64_t i = 0; !sums.shifted && i < count; ++i) {
    if (const double first = double(x[i]); first - first == 0) sums.shift = Numbers{} + first, sums.shifted = true;
  }
}

template <typename Elements, typename T>
[[gnu::always_inline]] inline void add_numbers(Sums& sums, const T* x, int64_t count) {
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

enum class Added : uint8_t { yes, not_finite, too_close };

// As if all were finite, which most are. Sums of distances to the shift follow from those of the elements themselves,
// whose squares are exact in a double, but where the distances are much smaller than the elements: then they are too
// close for it, and have to be taken one by one (kShifted). Nothing has been added where it was not possible.
constexpr int64_t kFiniteBlock = 1024, kEight = 8;
constexpr double kSmallest = 1e-6;  // of the squares: what is left has six digits less than a double
template <bool kShifted>
[[gnu::target("avx2,fma")]] Added add_finite_floats(Sums& sums, const float* x, int64_t count) {
  const __m256d magnitude = _mm256_castsi256_pd(_mm256_set1_epi64x(INT64_MAX));
  const __m256d shift = kShifted ? reinterpret_cast<__m256d>(sums.shift) : _mm256_setzero_pd();
  const __m256 zero = _mm256_setzero_ps();
  __m256d sum_low = _mm256_setzero_pd(), sum_high = sum_low, squares_low = sum_low, squares_high = sum_low;
  __m256d magnitudes_low = sum_low, magnitudes_high = sum_low;
  __m256 minimum = _mm256_loadu_ps(x), maximum = minimum;
  __m256i zeros = _mm256_setzero_si256();  // counted downwards
  for (int64_t i = 0; i < count; i += kEight) {
    const __m256 eight = _mm256_loadu_ps(x + i);
    minimum = _mm256_min_ps(minimum, eight);
    maximum = _mm256_max_ps(maximum, eight);
    zeros = _mm256_add_epi32(zeros, _mm256_castps_si256(_mm256_cmp_ps(eight, zero, _CMP_EQ_OQ)));
    __m256d low = _mm256_cvtps_pd(_mm_loadu_ps(x + i)), high = _mm256_cvtps_pd(_mm_loadu_ps(x + i + kEight / 2));
    magnitudes_low = _mm256_add_pd(magnitudes_low, _mm256_and_pd(low, magnitude));
    magnitudes_high = _mm256_add_pd(magnitudes_high, _mm256_and_pd(high, magnitude));
    if constexpr (kShifted) low = _mm256_sub_pd(low, shift), high = _mm256_sub_pd(high, shift);
    sum_low = _mm256_add_pd(sum_low, low);
    sum_high = _mm256_add_pd(sum_high, high);
    squares_low = _mm256_fmadd_pd(low, low, squares_low);
    squares_high = _mm256_fmadd_pd(high, high, squares_high);
  }
  Numbers sum = reinterpret_cast<Numbers>(_mm256_add_pd(sum_low, sum_high));
  Numbers squares = reinterpret_cast<Numbers>(_mm256_add_pd(squares_low, squares_high));
  // Squares of float32 do not leave the range of a double, but those of an infinity and of NaN do.
  const double all = total(squares);
  if (!(all - all == 0)) return Added::not_finite;
  if constexpr (!kShifted) {
    const Numbers moved = (Numbers{} + double(count / kLanes)) * sums.shift;
    squares -= sums.shift * (sum + sum - moved);
    sum -= moved;
    if (total(squares) < kSmallest * all) return Added::too_close;
  }
  sums.sum += sum;
  sums.squares += squares;
  sums.magnitudes += reinterpret_cast<Numbers>(_mm256_add_pd(magnitudes_low, magnitudes_high));
  sums.zeros += reinterpret_cast<Flags>(_mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(zeros)),
                                                         _mm256_cvtepi32_epi64(_mm256_extracti128_si256(zeros, 1))));
  const __m128 least = _mm_min_ps(_mm256_castps256_ps128(minimum), _mm256_extractf128_ps(minimum, 1));
  const __m128 most = _mm_max_ps(_mm256_castps256_ps128(maximum), _mm256_extractf128_ps(maximum, 1));
  sums.minimum =
      reinterpret_cast<Numbers>(_mm256_min_pd(reinterpret_cast<__m256d>(sums.minimum), _mm256_cvtps_pd(least)));
  sums.maximum =
      reinterpret_cast<Numbers>(_mm256_max_pd(reinterpret_cast<__m256d>(sums.maximum), _mm256_cvtps_pd(most)));
  return Added::yes;
}

[[gnu::target("avx2,fma")]] void add_floats_wide(Sums& sums, const float* x, int64_t count) {
  while (count >= kEight) {
    const int64_t now = std::min(count, kFiniteBlock) / kEight * kEight;
    Added added = add_finite_floats<false>(sums, x, now);
    if (added == Added::too_close) added = add_finite_floats<true>(sums, x, now);
    if (added == Added::not_finite) add_numbers<FourFloats>(sums, x, now);
    x += now;
    count -= now;
  }
  add_numbers<FourFloats>(sums, x, count);
}
[[gnu::target("avx2,fma")]] void add_doubles_wide(Sums& sums, const double* x, int64_t count) {
  add_numbers<Numbers>(sums, x, count);
}
// Eight at a time; what is left over is the caller's.
[[gnu::target("avx2,f16c")]] void halves_to_floats(const uint16_t* x, int64_t count, float* out) {
  for (int64_t i = 0; i + kEight <= count; i += kEight) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
}
[[gnu::target("avx2,f16c")]] void bfloats_to_floats(const uint16_t* x, int64_t count, float* out) {
  for (int64_t i = 0; i + kEight <= count; i += kEight) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i)));
    _mm256_storeu_ps(out + i, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)));
  }
}
// Reads the processor's own word: __builtin_cpu_supports("f16c") does not compile with clang 14.
bool has_halves() {
  unsigned a, b, c = 0, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
bool has_wide() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_halves();
  return has;
}
#else
constexpr int64_t kFiniteBlock = 1024, kEight = 8;
void halves_to_floats(const uint16_t*, int64_t, float*) {}
constexpr auto bfloats_to_floats = halves_to_floats;
constexpr auto add_floats_wide = add_floats_plain;
constexpr auto add_doubles_wide = add_doubles_plain;
bool has_wide() { return false; }
#endif

void add(Sums& sums, const float* x, int64_t count) {
  find_shift(sums, x, count);
  has_wide() ? add_floats_wide(sums, x, count) : add_floats_plain(sums, x, count);
}
void add(Sums& sums, const double* x, int64_t count) {
  find_shift(sums, x, count);
  has_wide() ? add_doubles_wide(sums, x, count) : add_doubles_plain(sums, x, count);
}

Reduced reduced_from(const Sums& sums, uint64_t count) {
  Reduced reduced;
  reduced.nan = uint64_t(-total(sums.nan));
  reduced.finite = count - reduced.nan - uint64_t(-total(sums.infinite));
  reduced.positive_infinity = uint64_t(-total(sums.positive));
  reduced.zeros = uint64_t(-total(sums.zeros));
  reduced.shift = sums.shift[0];
  reduced.sum = total(sums.sum);
  reduced.squares = total(sums.squares);
  reduced.l1 = total(sums.magnitudes);
  reduced.minimum = sums.minimum[0];
  reduced.maximum = sums.maximum[0];
  for (int i = 1; i < kLanes; ++i) {
    reduced.minimum = std::min(reduced.minimum, double(sums.minimum[i]));
    reduced.maximum = std::max(reduced.maximum, double(sums.maximum[i]));
  }
  return reduced;
}

struct Pass {
  int dtype;
  Sums sums;
};

void add_piece(Pass& pass, const void* elements, int64_t count) {
  if (pass.dtype == kFloat32) return add(pass.sums, static_cast<const float*>(elements), count);
  if (pass.dtype == kFloat64) return add(pass.sums, static_cast<const double*>(elements), count);
  if ((pass.dtype == kFloat16 || pass.dtype == kBfloat16) && has_wide()) {
    const auto* x = static_cast<const uint16_t*>(elements);
    const int64_t whole = count / kEight * kEight;
    float block[kFiniteBlock];
    for (int64_t done = 0; done < whole; done += kFiniteBlock) {
      const int64_t now = std::min(whole - done, kFiniteBlock);
      (pass.dtype == kFloat16 ? halves_to_floats : bfloats_to_floats)(x + done, now, block);
      add(pass.sums, block, now);
    }
    elements = x + whole;
    count -= whole;
  }
  each_block_of_numbers(pass.dtype, elements, count,
                        [&](const double* numbers, int64_t now) { add(pass.sums, numbers, now); });
}

// Squares of numbers of this size leave the range of a double.
bool needs_scale(const Statistics& statistics) {
  const double largest = std::max(fabs(statistics.minimum), fabs(statistics.maximum));
  return largest > 1e150 || (largest > 0 && largest < 1e-150);
}

// A second pass, of numbers between -1 and 1.
struct ScaledPass {
  int dtype;
  double scale;
  double sum = 0, squares = 0;
};

void add_scaled_piece(ScaledPass& pass, const void* elements, int64_t count) {
  each_block_of_numbers(pass.dtype, elements, count, [&](const double* numbers, int64_t now) {
    for (int64_t i = 0; i < now; ++i) {
      if (numbers[i] - numbers[i] != 0) continue;
      const double x = numbers[i] / pass.scale;
      pass.sum += x;
      pass.squares += x * x;
    }
  });
}

void finish_scaled(const TensorView& view, Statistics& out) {
  ScaledPass pass = {view.dtype, std::max(fabs(out.minimum), fabs(out.maximum))};
  each_piece(view, [&](const void* elements, int64_t count) { add_scaled_piece(pass, elements, count); });
  const double n = double(out.finite());
  out.mean = pass.sum / n * pass.scale;
  out.l2 = sqrt(pass.squares) * pass.scale;
  if (n > 1) out.deviation = sqrt(std::max(0.0, (pass.squares - pass.sum * pass.sum / n) / (n - 1))) * pass.scale;
}

}  // namespace

void each_piece(const TensorView& view, FunctionRef<void(const void* elements, int64_t count)> f) {
  if (view.numel == 0) return;
  if (view.contiguous) return f(view.data, view.numel);
  // Rows of the last dimension are gathered; of all before it, one index each.
  constexpr int kMaxDims = 64, kPieceBytes = 4096;
  int64_t at[kMaxDims] = {};
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
        f(piece, filled);
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
  if (filled > 0) f(piece, filled);
}

Statistics statistics_from(const Reduced& reduced, uint64_t count) {
  Statistics out;
  out.count = count;
  out.nan = reduced.nan;
  out.positive_infinity = reduced.positive_infinity;
  out.negative_infinity = count - reduced.finite - reduced.nan - reduced.positive_infinity;
  out.zeros = reduced.zeros;
  const double n = double(reduced.finite), shift = reduced.shift, sum = reduced.sum;
  if (n == 0) return out;
  out.minimum = reduced.minimum + 0.0;  // never -0: which of two zeros is met first says nothing
  out.maximum = reduced.maximum + 0.0;
  out.sum = sum + n * shift;
  out.mean = shift + sum / n;
  out.deviation = n > 1 ? sqrt(std::max(0.0, (reduced.squares - sum * sum / n) / (n - 1))) : 0;
  out.l1 = reduced.l1;
  out.l2 = sqrt(std::max(0.0, reduced.squares + 2 * shift * sum + n * shift * shift));
  return out;
}

bool statistics_of(const TensorView& view, Statistics& out) {
  if (!is_known_dtype(view.dtype)) return false;
  Pass pass = {view.dtype, {}};
  each_piece(view, [&](const void* elements, int64_t count) { add_piece(pass, elements, count); });
  out = statistics_from(reduced_from(pass.sums, uint64_t(view.numel)), uint64_t(view.numel));
  if (needs_scale(out)) finish_scaled(view, out);
  return true;
}

}  // namespace tensorscope::tensor_values
