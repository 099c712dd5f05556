// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/element_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensorscope/rules/dtypes.h"

namespace tensorscope::tensor_values {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;
using enum rules::Dtype;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
std::vector<double> numbers(int dtype, std::vector<T> elements, size_t count) {
  std::vector<double> out(count);
  EXPECT_TRUE(numbers_of(dtype, elements.data(), int64_t(count), out.data()));
  return out;
}
template <typename T>
std::vector<double> numbers(int dtype, std::vector<T> elements) {
  return numbers(dtype, elements, elements.size());
}

TEST(ElementNumbers, OfEachDtype) {
  EXPECT_THAT(numbers<uint8_t>(kUint8, {0, 255}), ElementsAre(0, 255));
  EXPECT_THAT(numbers<uint8_t>(kBool, {0, 1}), ElementsAre(0, 1));
  EXPECT_THAT(numbers<int8_t>(kInt8, {-128, 127}), ElementsAre(-128, 127));
  EXPECT_THAT(numbers<int16_t>(kInt16, {-32768, 7}), ElementsAre(-32768, 7));
  EXPECT_THAT(numbers<uint16_t>(kUint16, {65535}), ElementsAre(65535));
  EXPECT_THAT(numbers<int32_t>(kInt32, {INT32_MIN}), ElementsAre(-2147483648.0));
  EXPECT_THAT(numbers<uint32_t>(kUint32, {UINT32_MAX}), ElementsAre(4294967295.0));
  EXPECT_THAT(numbers<int64_t>(kInt64, {-5}), ElementsAre(-5));
  EXPECT_THAT(numbers<uint64_t>(kUint64, {uint64_t{1} << 63}), ElementsAre(0x1p63));
  EXPECT_THAT(numbers<float>(kFloat32, {0.5f}), ElementsAre(0.5));
  EXPECT_THAT(numbers<double>(kFloat64, {1e300}), ElementsAre(1e300));
  EXPECT_THAT(numbers<uint16_t>(kFloat16, {0x3c00, 0xfbff, 0x0001, 0x7c00}),
              ElementsAre(1, -65504, 0x1p-24, kInfinity));
  EXPECT_THAT(numbers<uint16_t>(kBfloat16, {0x3f80, 0xc000}), ElementsAre(1, -2));
  EXPECT_THAT(numbers<uint8_t>(kFloat8E5M2, {0x3c, 0x7c}), ElementsAre(1, kInfinity));
  EXPECT_THAT(numbers<uint8_t>(kFloat8E4M3, {0x38, 0x7e, 0x7f}), ElementsAre(1, 448, IsNan()));
  EXPECT_THAT(numbers<uint8_t>(kFloat8E5M2Fnuz, {0x40, 0x80}), ElementsAre(1, IsNan()));
  EXPECT_THAT(numbers<uint8_t>(kFloat8E4M3Fnuz, {0x40, 0x80}), ElementsAre(1, IsNan()));
  EXPECT_THAT(numbers<uint8_t>(kFloat8E8M0, {127, 128, 255}), ElementsAre(1, 2, IsNan()));
}

TEST(ElementNumbers, ComplexOnesAreTheirMagnitude) {
  EXPECT_THAT(numbers<float>(kComplex64, {3, -4, 0, 0}, 2), ElementsAre(5, 0));
  EXPECT_THAT(numbers<double>(kComplex128, {1e300, 0, kNan, kInfinity}, 2), ElementsAre(1e300, IsNan()));
  EXPECT_THAT(numbers<uint16_t>(kComplex32, {0x4200, 0x4400}, 1), ElementsAre(5));  // 3 + 4i
}

TEST(ElementNumbers, ADtypeThatIsNotKnownIsRefused) {
  EXPECT_TRUE(is_known_dtype(kFloat32));
  EXPECT_FALSE(is_known_dtype(-1));
  EXPECT_FALSE(is_known_dtype(99));
  double number = 0;
  for (const int dtype : {int(kInt32), int(kComplex64), 99}) EXPECT_FALSE(elements_of(dtype, &number, 1, &number));
}

TEST(ElementNumbers, BlocksAreTheWholeInItsOrder) {
  std::vector<float> elements(600);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = float(i);
  std::vector<double> found;
  each_block_of_numbers(kFloat32, elements.data(), 600, [&](const double* numbers, int64_t count) {
    found.insert(found.end(), numbers, numbers + count);
  });
  EXPECT_EQ(found, std::vector<double>(elements.begin(), elements.end()));
}

std::vector<uint16_t> sixteen_bits(int dtype, const std::vector<double>& numbers) {
  std::vector<uint16_t> out(numbers.size());
  EXPECT_TRUE(elements_of(dtype, numbers.data(), int64_t(numbers.size()), out.data()));
  return out;
}

TEST(ElementNumbers, RoundsToTheNearestAndTiesToEven) {
  const auto half = [](const std::vector<double>& numbers) { return sixteen_bits(kFloat16, numbers); };
  EXPECT_THAT(half({1, -2, 0, -0.0}), ElementsAre(0x3c00, 0xc000, 0x0000, 0x8000));
  EXPECT_THAT(half({1 + 0x1p-11, 1 + 3 * 0x1p-11, 1 + 0x1.8p-11}), ElementsAre(0x3c00, 0x3c02, 0x3c01));
  EXPECT_THAT(half({65504, 65519, 65520, -1e300, kInfinity}), ElementsAre(0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x7c00));
  EXPECT_THAT(half({0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-14 - 0x1p-26, 0x1p-14}),
              ElementsAre(0x0001, 0x0000, 0x0001, 0x0400, 0x0400));
  EXPECT_THAT(half({kNan}), ElementsAre(0x7e00));
  const auto brain = [](const std::vector<double>& numbers) { return sixteen_bits(kBfloat16, numbers); };
  EXPECT_THAT(brain({1, 1 + 0x1p-8, 1 + 3 * 0x1p-8, 3.4e38, -kInfinity}),
              ElementsAre(0x3f80, 0x3f80, 0x3f82, 0x7f80, 0xff80));
  EXPECT_TRUE(std::isnan(numbers<uint16_t>(kBfloat16, brain({kNan}))[0]));
  float single = 0;
  const double third = 1.0 / 3;
  ASSERT_TRUE(elements_of(kFloat32, &third, 1, &single));
  EXPECT_EQ(single, 1.0f / 3);
  double same = 0;
  ASSERT_TRUE(elements_of(kFloat64, &third, 1, &same));
  EXPECT_EQ(same, third);
}

}  // namespace
}  // namespace tensorscope::tensor_values
