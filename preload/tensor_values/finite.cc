// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/finite.h"

#include <string.h>

#include <algorithm>
#include <limits>

#include "tensor_values/statistics.h"
#include "tensorscope/rules/dtypes.h"

// Vectors are passed between functions of this file alone, all of them inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tensorscope::tensor_values {

using enum rules::Dtype;

namespace {

constexpr int kVectorBytes = 32;
constexpr int64_t kBlockBytes = 8192;  // between two looks at what was found

// Bits of an element that have this value in a NaN or an infinity, and in no other number. width 0: there is none.
struct Pattern {
  int width = 0;  // bytes
  uint64_t mask = 0, value = 0;
  int parts = 1;  // of an element: 2 for complex numbers
};

constexpr Pattern same(int width, uint64_t bits, int parts = 1) { return {width, bits, bits, parts}; }

constexpr Pattern pattern_of(int dtype) {
  switch (dtype) {
    case kFloat16:
      return same(2, 0x7c00);
    case kComplex32:
      return same(2, 0x7c00, 2);
    case kBfloat16:
      return same(2, 0x7f80);
    case kFloat32:
      return same(4, 0x7f800000);
    case kComplex64:
      return same(4, 0x7f800000, 2);
    case kFloat64:
      return same(8, 0x7ff0000000000000);
    case kComplex128:
      return same(8, 0x7ff0000000000000, 2);
    case kFloat8E5M2:
      return same(1, 0x7c);
    case kFloat8E4M3:
      return same(1, 0x7f);
    case kFloat8E5M2Fnuz:
    case kFloat8E4M3Fnuz:
      return {1, 0xff, 0x80, 1};
    case kFloat8E8M0:
      return same(1, 0xff);
    default:
      return {};
  }
}

using Lanes1 = uint8_t __attribute__((vector_size(kVectorBytes)));
using Lanes2 = int16_t __attribute__((vector_size(kVectorBytes)));
using Lanes4 = int32_t __attribute__((vector_size(kVectorBytes)));
using Lanes8 = int64_t __attribute__((vector_size(kVectorBytes)));

// What a look at elements found. `largest`: the largest bits of an element without its sign, where the pattern is of
// all ones in the exponent, as in IEEE 754's formats: then a number is not finite if its bits reach the pattern.
struct Look {
  bool bad = false;
  uint64_t largest = 0;
};

// Elements whose bits under a mask are a pattern's.
template <typename Lanes, typename T>
struct ByBits {
  T mask, value;

  [[gnu::always_inline]] void take(Lanes& found, const Lanes& elements) const {
    found |= reinterpret_cast<Lanes>((elements & (Lanes{} + mask)) == (Lanes{} + value));
  }
  [[gnu::always_inline]] bool end_block(const Lanes& found, const Lanes& others) {
    uint64_t words[kVectorBytes / 8];
    const Lanes either = found | others;
    memcpy(words, &either, sizeof words);
    return (words[0] | words[1] | words[2] | words[3]) != 0;
  }
  [[gnu::always_inline]] bool take(T element) { return (element & mask) == value; }
  [[gnu::always_inline]] uint64_t largest() const { return 0; }
};

// The largest bits without the sign. T is signed: then no number is negative, and processors compare signed ones.
template <typename Lanes, typename T>
struct BySize {
  static constexpr T kNoSign = std::numeric_limits<T>::max();
  T value, most = 0;

  [[gnu::always_inline]] void take(Lanes& found, const Lanes& elements) const {
    const Lanes sizes = elements & (Lanes{} + kNoSign);
    found = sizes > found ? sizes : found;
  }
  [[gnu::always_inline]] bool end_block(const Lanes& found, const Lanes& others) {
    const Lanes larger = others > found ? others : found;
    for (size_t lane = 0; lane < kVectorBytes / sizeof(T); ++lane) most = std::max(most, T(larger[lane]));
    return most >= value;
  }
  [[gnu::always_inline]] bool take(T element) {
    most = std::max(most, T(element & kNoSign));
    return most >= value;
  }
  [[gnu::always_inline]] uint64_t largest() const { return uint64_t(most); }
};

template <typename Lanes, typename T, typename Search>
[[gnu::always_inline]] inline Look look_through(const void* data, int64_t count, Search search) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(T), kBlock = kBlockBytes / int64_t(sizeof(T));
  const auto* x = static_cast<const T*>(data);
  int64_t i = 0;
  while (i + 2 * kLanes <= count) {
    const int64_t end = count - i < kBlock ? count - 2 * kLanes : i + kBlock - 2 * kLanes;
    Lanes found = {}, others = {};
    for (; i <= end; i += 2 * kLanes) {
      Lanes a, b;
      memcpy(&a, x + i, sizeof a);
      memcpy(&b, x + i + kLanes, sizeof b);
      search.take(found, a);
      search.take(others, b);
    }
    if (search.end_block(found, others)) return {true};
  }
  for (; i < count; ++i) {
    if (search.take(x[i])) return {true};
  }
  return {false, search.largest()};
}

template <typename Lanes, typename T>
[[gnu::always_inline]] inline Look look_for_bits(const void* data, int64_t count, const Pattern& pattern) {
  return look_through<Lanes, T>(data, count, ByBits<Lanes, T>{T(pattern.mask), T(pattern.value)});
}

template <typename Lanes, typename T>
[[gnu::always_inline]] inline Look look_for_largest(const void* data, int64_t count, const Pattern& pattern) {
  return look_through<Lanes, T>(data, count, BySize<Lanes, T>{T(pattern.value)});
}

[[gnu::always_inline]] inline Look look(const void* data, int64_t elements, const Pattern& pattern) {
  const int64_t count = elements * pattern.parts;
  switch (pattern.width) {
    case 1:
      return look_for_bits<Lanes1, uint8_t>(data, count, pattern);
    case 2:
      return look_for_largest<Lanes2, int16_t>(data, count, pattern);
    case 4:
      return look_for_largest<Lanes4, int32_t>(data, count, pattern);
    default:
      return look_for_largest<Lanes8, int64_t>(data, count, pattern);
  }
}

Look look_plain(const void* data, int64_t elements, const Pattern& pattern) { return look(data, elements, pattern); }
#ifdef __x86_64__
[[gnu::target("avx2")]] Look look_wide(const void* data, int64_t elements, const Pattern& pattern) {
  return look(data, elements, pattern);
}
bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#else
constexpr auto look_wide = look_plain;
bool has_avx2() { return false; }
#endif

Look look_at(const void* data, int64_t elements, const Pattern& pattern) {
  return has_avx2() ? look_wide(data, elements, pattern) : look_plain(data, elements, pattern);
}

// The bits are a number's: it is below 2 to the power that follows its exponent.
Power power_of_bits(const Pattern& pattern, uint64_t bits) {
  const int mantissa = __builtin_ctzll(pattern.value);
  const int bias = int(pattern.value >> mantissa) >> 1;
  return Power(int(bits >> mantissa) - bias + 1);
}

bool gathered(const TensorView& view, const Pattern& pattern) {
  bool found = false;
  each_piece(view,
             [&](const void* elements, int64_t count) { found = found || look_at(elements, count, pattern).bad; });
  return found;
}

// Elements from the first to the last one that the tensor reaches; 0: not known.
int64_t span_of(const TensorView& view) {
  int64_t span = 1;
  for (int i = 0; i < view.ndim; ++i) {
    int64_t reach;
    if (view.strides[i] < 0 || __builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      return 0;
    }
  }
  return span;
}

}  // namespace

bool can_be_not_finite(int dtype) { return pattern_of(dtype).width != 0; }

bool any_not_finite(const TensorView& view) {
  Power power;
  return any_not_finite(view, power);
}

bool any_not_finite(const TensorView& view, Power& power) {
  power = kNoPower;
  const Pattern pattern = pattern_of(view.dtype);
  if (pattern.width == 0 || view.numel == 0) return false;
  // Transposed or expanded: the order does not matter, and elements that the tensor leaves out are looked at again.
  const int64_t span = view.contiguous ? view.numel : span_of(view);
  if (view.contiguous || (span > 0 && span <= view.numel)) {
    const Look found = look_at(view.data, span, pattern);
    if (!found.bad && pattern.width > 1 && pattern.parts == 1) power = power_of_bits(pattern, found.largest);
    if (!found.bad || view.contiguous) return found.bad;
  }
  return gathered(view, pattern);
}

}  // namespace tensorscope::tensor_values
