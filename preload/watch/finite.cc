#include "watch/finite.h"

#include <string.h>

#include "tensorscope/rules/dtypes.h"
#include "watch/statistics.h"

// Vectors are passed between functions of this file alone, all of them inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tensorscope::watch {

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
using Lanes2 = uint16_t __attribute__((vector_size(kVectorBytes)));
using Lanes4 = uint32_t __attribute__((vector_size(kVectorBytes)));
using Lanes8 = uint64_t __attribute__((vector_size(kVectorBytes)));

template <typename Lanes, typename T>
[[gnu::always_inline]] inline bool found_in(const T* x, int64_t count, T mask, T value) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(T), kBlock = kBlockBytes / int64_t(sizeof(T));
  const Lanes masks = Lanes{} + mask, values = Lanes{} + value;
  int64_t i = 0;
  while (i + 2 * kLanes <= count) {
    const int64_t end = count - i < kBlock ? count - 2 * kLanes : i + kBlock - 2 * kLanes;
    Lanes found = {}, others = {};
    for (; i <= end; i += 2 * kLanes) {
      Lanes a, b;
      memcpy(&a, x + i, sizeof a);
      memcpy(&b, x + i + kLanes, sizeof b);
      found |= reinterpret_cast<Lanes>((a & masks) == values);
      others |= reinterpret_cast<Lanes>((b & masks) == values);
    }
    uint64_t words[kVectorBytes / 8];
    found |= others;
    memcpy(words, &found, sizeof words);
    if ((words[0] | words[1] | words[2] | words[3]) != 0) return true;
  }
  for (; i < count; ++i) {
    if ((x[i] & mask) == value) return true;
  }
  return false;
}

[[gnu::always_inline]] inline bool found(const void* data, int64_t elements, const Pattern& pattern) {
  const int64_t count = elements * pattern.parts;
  switch (pattern.width) {
    case 1:
      return found_in<Lanes1>(static_cast<const uint8_t*>(data), count, uint8_t(pattern.mask), uint8_t(pattern.value));
    case 2:
      return found_in<Lanes2>(static_cast<const uint16_t*>(data), count, uint16_t(pattern.mask),
                              uint16_t(pattern.value));
    case 4:
      return found_in<Lanes4>(static_cast<const uint32_t*>(data), count, uint32_t(pattern.mask),
                              uint32_t(pattern.value));
    default:
      return found_in<Lanes8>(static_cast<const uint64_t*>(data), count, pattern.mask, pattern.value);
  }
}

bool found_plain(const void* data, int64_t elements, const Pattern& pattern) { return found(data, elements, pattern); }
#ifdef __x86_64__
[[gnu::target("avx2")]] bool found_wide(const void* data, int64_t elements, const Pattern& pattern) {
  return found(data, elements, pattern);
}
bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#else
constexpr auto found_wide = found_plain;
bool has_avx2() { return false; }
#endif

bool look_at(const void* data, int64_t elements, const Pattern& pattern) {
  return has_avx2() ? found_wide(data, elements, pattern) : found_plain(data, elements, pattern);
}

struct Search {
  Pattern pattern;
  bool found = false;
};

bool gathered(const TensorView& view, const Pattern& pattern) {
  Search search = {pattern};
  each_piece(
      view,
      [](const void* elements, int64_t count, void* context) {
        auto* search = static_cast<Search*>(context);
        search->found = search->found || look_at(elements, count, search->pattern);
      },
      &search);
  return search.found;
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
  const Pattern pattern = pattern_of(view.dtype);
  if (pattern.width == 0 || view.numel == 0) return false;
  if (view.contiguous) return look_at(view.data, view.numel, pattern);
  // Transposed or expanded: the order does not matter, and elements that the tensor leaves out are looked at again.
  const int64_t span = span_of(view);
  if (span > 0 && span <= view.numel && !look_at(view.data, span, pattern)) return false;
  return gathered(view, pattern);
}

}  // namespace tensorscope::watch
