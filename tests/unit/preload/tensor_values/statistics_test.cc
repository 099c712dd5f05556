// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tensorscope::tensor_values {
namespace {

constexpr int kFloat = 6, kDouble = 7;

template <typename T>
TensorView view_of(const std::vector<T>& data, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                   int dtype, bool contiguous) {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  return {data.data(), sizes.data(), strides.data(), numel, int(sizes.size()), dtype, int(sizeof(T)), contiguous};
}

template <typename T>
Statistics of(const std::vector<T>& data, int dtype) {
  const std::vector<int64_t> sizes = {int64_t(data.size())}, strides = {1};
  Statistics out;
  EXPECT_TRUE(statistics_of(view_of(data, sizes, strides, dtype, true), out));
  return out;
}

// Processors without AVX2 take the squares of the distances to the shift alone; behind one element far away that is
// 5,000 times the sum that is wanted, with its rounding.
double l2_error() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1e-11;  // processors with both have F16C
#endif
  return 1e-10;
}

TEST(Statistics, agree_with_the_definition_at_every_length) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(1e6, 1);  // a mean that would eat a deviation taken from squares
  for (int length = 1; length < 40; ++length) {
    std::vector<double> data(static_cast<size_t>(length));
    for (double& x : data) x = normal(random);
    double mean = 0, squares = 0, l1 = 0, l2 = 0;
    for (double x : data) mean += x / length;
    for (double x : data) squares += (x - mean) * (x - mean), l1 += std::abs(x), l2 += x * x;
    const Statistics found = of(data, kDouble);
    EXPECT_EQ(found.count, uint64_t(length));
    EXPECT_NEAR(found.mean, mean, 1e-6);
    EXPECT_NEAR(found.deviation, length > 1 ? std::sqrt(squares / (length - 1)) : 0, 1e-6);
    EXPECT_NEAR(found.l1 / l1, 1, 1e-12);
    EXPECT_NEAR(found.l2 / std::sqrt(l2), 1, 1e-12);
    EXPECT_EQ(found.minimum, *std::min_element(data.begin(), data.end()));
    EXPECT_EQ(found.maximum, *std::max_element(data.begin(), data.end()));
  }
}

// Distances to the mean that are small beside the elements, in all blocks, in some, or beside one element far away.
TEST(Statistics, of_float32_agree_with_the_definition_wherever_they_lie) {
  std::mt19937 random(2);
  for (const float mean : {0.0F, 1.0F, -300.0F, 1e4F, 1e6F, -3e9F}) {
    for (const float spread : {0.0F, 1e-3F, 1.0F, 1e4F}) {
      for (const size_t length : {7u, 1024u, 5003u}) {
        std::normal_distribution<float> normal(mean, spread);
        std::vector<float> data(length);
        for (float& x : data) x = normal(random);
        if (length > 5000) {
          data[0] = 1e7F;                                                        // the shift
          for (size_t i = 2048; i < 3072; ++i) data[i] = spread * float(i) + 5;  // a block of another kind
        }
        long double sum = 0, squares = 0, l1 = 0, l2 = 0;
        for (const float x : data) sum += x, l1 += std::abs(x), l2 += static_cast<long double>(x) * x;
        const long double average = sum / static_cast<long double>(length);
        for (const float x : data) squares += (x - average) * (x - average);
        const Statistics found = of(data, kFloat);
        const auto deviation = static_cast<double>(sqrtl(squares / static_cast<long double>(length - 1)));
        const double scale = static_cast<double>(l1 / static_cast<long double>(length)) + std::abs(double(data[0]));
        EXPECT_NEAR(found.mean, static_cast<double>(average), 1e-14 * scale) << mean << ' ' << spread << ' ' << length;
        EXPECT_NEAR(found.deviation, deviation, 1e-9 * deviation) << mean << ' ' << spread << ' ' << length;
        EXPECT_NEAR(found.l1, static_cast<double>(l1), 1e-12 * static_cast<double>(l1));
        EXPECT_NEAR(found.l2, static_cast<double>(sqrtl(l2)), l2_error() * static_cast<double>(sqrtl(l2)));
        EXPECT_EQ(found.minimum, double(*std::min_element(data.begin(), data.end())));
        EXPECT_EQ(found.maximum, double(*std::max_element(data.begin(), data.end())));
      }
    }
  }
}

TEST(Statistics, squares_may_leave_the_range_of_a_double) {
  const Statistics one = of<double>({-1e308}, kDouble), two = of<double>({3e200, -4e200}, kDouble),
                   small = of<double>({3e-200, 4e-200}, kDouble);
  EXPECT_EQ(one.l2, 1e308);
  EXPECT_EQ(one.deviation, 0);
  EXPECT_NEAR(two.l2 / 5e200, 1, 1e-12);
  EXPECT_NEAR(two.mean / -0.5e200, 1, 1e-12);
  EXPECT_NEAR(two.deviation / (7e200 / std::sqrt(2.0)), 1, 1e-12);
  EXPECT_NEAR(small.l2 / 5e-200, 1, 1e-12);
}

TEST(Statistics, a_range_of_zeros_has_no_sign) {
  for (size_t length : {1, 7, 64, 1000}) {
    std::vector<float> zeros(length, -0.0F);
    for (int turn = 0; turn < 2; ++turn, zeros[length / 2] = 0) {
      const Statistics found = of(zeros, kFloat);
      EXPECT_FALSE(std::signbit(found.minimum) || std::signbit(found.maximum)) << length;
    }
  }
}

TEST(Statistics, what_is_not_finite_is_counted_and_left_out) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Statistics found = of<float>({nan, inf, 0, -inf, 3, inf, -1, 0, nan}, kFloat);
  EXPECT_EQ(found.nan, 2);
  EXPECT_EQ(found.positive_infinity, 2);
  EXPECT_EQ(found.negative_infinity, 1);
  EXPECT_EQ(found.zeros, 2);
  EXPECT_EQ(found.finite(), 4);
  EXPECT_EQ(found.minimum, -1);
  EXPECT_EQ(found.maximum, 3);
  EXPECT_DOUBLE_EQ(found.mean, 0.5);
  const Statistics none = of<float>({nan, nan}, kFloat);
  EXPECT_EQ(none.nan, 2);
  EXPECT_EQ(none.minimum, 0);
}

// Blocks of finite elements are taken another way than those with one that is not.
TEST(Statistics, a_long_tensor_is_as_its_elements) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::mt19937 random(2);
  std::normal_distribution<float> normal(100, 1);
  for (const size_t length : {8, 31, 1024, 5003}) {
    std::vector<float> data(length);
    for (float& x : data) x = normal(random);
    data[length / 3] = 0;
    data[length / 2] = -3e38F;
    for (const float odd : {1.0F, nan, inf, -inf}) {
      data.back() = odd;
      data[0] = odd;
      Statistics expected;
      double squares = 0;
      for (float x : data) {
        expected.nan += std::isnan(x), expected.zeros += x == 0;
        expected.positive_infinity += x == inf, expected.negative_infinity += x == -inf;
        if (!std::isfinite(x)) continue;
        expected.sum += double(x), expected.l1 += std::abs(double(x)), squares += double(x) * double(x);
        expected.minimum = std::min(expected.minimum, double(x)),
        expected.maximum = std::max(expected.maximum, double(x));
      }
      const Statistics found = of(data, kFloat);
      EXPECT_EQ(found.count, length);
      EXPECT_EQ(found.nan, expected.nan);
      EXPECT_EQ(found.positive_infinity, expected.positive_infinity);
      EXPECT_EQ(found.negative_infinity, expected.negative_infinity);
      EXPECT_EQ(found.zeros, expected.zeros);
      EXPECT_EQ(found.minimum, expected.minimum);
      EXPECT_EQ(found.maximum, expected.maximum);
      EXPECT_NEAR(found.sum / expected.sum, 1, 1e-12);
      EXPECT_NEAR(found.l1 / expected.l1, 1, 1e-12);
      EXPECT_NEAR(found.l2 / std::sqrt(squares), 1, 1e-12);
    }
  }
}

TEST(Statistics, short_dtypes_are_as_their_numbers_at_every_length) {
  for (const int dtype : {5, 15}) {
    std::vector<uint16_t> all(1 << 16);
    for (size_t i = 0; i < all.size(); ++i) all[i] = uint16_t(i);
    const Statistics whole = of(all, dtype);
    uint64_t nan = 0, zeros = 0, infinite = 0;
    double l1 = 0, largest = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const Statistics one = of<uint16_t>({uint16_t(i)}, dtype);  // too few for the fast way
      nan += one.nan, zeros += one.zeros, infinite += one.positive_infinity + one.negative_infinity;
      l1 += one.l1, largest = std::max(largest, one.maximum);
    }
    EXPECT_EQ(whole.nan, nan);
    EXPECT_EQ(whole.zeros, zeros);
    EXPECT_EQ(whole.positive_infinity + whole.negative_infinity, infinite);
    EXPECT_EQ(whole.maximum, largest);
    EXPECT_NEAR(whole.l1 / l1, 1, 1e-12);
    EXPECT_EQ(of<uint16_t>({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, dtype).zeros, 11);
  }
}

TEST(Statistics, each_dtype_by_its_bits) {
  EXPECT_EQ(of<uint16_t>({0x3c00, 0xc000, 0x7c00, 0x7e00, 0x0001}, 5).maximum, 1);  // half
  EXPECT_EQ(of<uint16_t>({0x3c00, 0xc000, 0x7c00, 0x7e00, 0x0001}, 5).minimum, -2);
  EXPECT_EQ(of<uint16_t>({0x0001}, 5).sum, std::ldexp(1.0, -24));
  EXPECT_EQ(of<uint16_t>({0x7c00, 0xfc00, 0x7e00}, 5).finite(), 0);
  EXPECT_EQ(of<uint16_t>({0x3f80, 0x4000}, 15).sum, 3);         // bfloat16
  EXPECT_EQ(of<uint8_t>({0x3c, 0x7c, 0xfc, 0x7d}, 23).sum, 1);  // float8_e5m2
  EXPECT_EQ(of<uint8_t>({0x3c, 0x7c, 0xfc, 0x7d}, 23).positive_infinity, 1);
  EXPECT_EQ(of<uint8_t>({0x38, 0x7f, 0x7e}, 24).nan, 1);  // float8_e4m3fn
  EXPECT_EQ(of<uint8_t>({0x38, 0x7f, 0x7e}, 24).maximum, 448);
  EXPECT_EQ(of<uint8_t>({0x80, 0x40}, 25).nan, 1);  // float8_e5m2fnuz
  EXPECT_EQ(of<uint8_t>({0x80, 0x40}, 26).sum, 1);  // float8_e4m3fnuz
  EXPECT_EQ(of<uint8_t>({1, 0, 1}, 11).sum, 2);     // bool
  EXPECT_EQ(of<int64_t>({-5, 7}, 4).minimum, -5);
  EXPECT_EQ(of<uint64_t>({uint64_t{1} << 63}, 29).maximum, std::ldexp(1.0, 63));
  EXPECT_EQ(of<float>({3, 4}, kFloat).l2, 5);
  const std::vector<float> complex = {3, 4, 0, 0};  // two complex numbers
  const std::vector<int64_t> sizes = {2}, strides = {1};
  TensorView view = view_of(complex, sizes, strides, 9, true);
  view.itemsize = 8;
  Statistics found;
  ASSERT_TRUE(statistics_of(view, found));
  EXPECT_EQ(found.maximum, 5);
  EXPECT_EQ(found.zeros, 1);
  EXPECT_FALSE(statistics_of(view_of(complex, sizes, strides, 16, true), found));  // quint4x2
}

TEST(Statistics, a_view_counts_its_own_elements_in_their_order) {
  std::vector<float> data(6 * 2000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = float(i);
  const std::vector<int64_t> sizes = {2000, 2, 3}, strides = {1, 6000, 2000};  // transposed, longer than a piece
  const TensorView view = view_of(data, sizes, strides, kFloat, false);
  std::vector<float> seen;
  each_piece(view, [&](const void* elements, int64_t count) {
    const float* x = static_cast<const float*>(elements);
    seen.insert(seen.end(), x, x + count);
  });
  ASSERT_EQ(seen.size(), data.size());
  for (size_t i = 0, at = 0; i < 2000; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      for (size_t k = 0; k < 3; ++k) ASSERT_EQ(seen[at++], float(i + 6000 * j + 2000 * k));
    }
  }
  Statistics found;
  ASSERT_TRUE(statistics_of(view, found));
  EXPECT_EQ(found.sum, 6.0 * 2000 * (6 * 2000 - 1) / 2);
  const std::vector<int64_t> expanded = {4, 2}, zero_stride = {0, 1};
  ASSERT_TRUE(statistics_of(view_of(data, expanded, zero_stride, kFloat, false), found));
  EXPECT_EQ(found.sum, 4);
}

}  // namespace
}  // namespace tensorscope::tensor_values
