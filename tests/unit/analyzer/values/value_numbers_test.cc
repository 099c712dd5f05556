// SPDX-License-Identifier: Apache-2.0
#include "values/value_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "values/element_type.h"

namespace tensorscope::values {
namespace {

template <typename T>
Elements elements(int8_t dtype, const std::vector<T>& numbers) {
  return {
      dtype, {int64_t(numbers.size())}, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)}};
}

TEST(Statistics, OfElements) {
  const auto statistics = statistics_of(elements<float>(kFloat32, {1, -3, 0, 6, NAN, INFINITY, -INFINITY, INFINITY}));
  ASSERT_TRUE(statistics);
  EXPECT_EQ(statistics->count, 8u);
  EXPECT_EQ(statistics->nan, 1u);
  EXPECT_EQ(statistics->positive_infinity, 2u);
  EXPECT_EQ(statistics->negative_infinity, 1u);
  EXPECT_EQ(statistics->zeros, 1u);
  EXPECT_EQ(statistics->minimum, -3);
  EXPECT_EQ(statistics->maximum, 6);
  EXPECT_EQ(statistics->mean, 1);
  EXPECT_DOUBLE_EQ(statistics->deviation, std::sqrt((0 + 16 + 1 + 25) / 3.0));
  EXPECT_EQ(statistics->l1, 10);
  EXPECT_DOUBLE_EQ(statistics->l2, std::sqrt(46));
}

TEST(Statistics, ALargeMeanLeavesTheDeviation) {
  EXPECT_EQ(statistics_of(elements<double>(kFloat64, {1e9 + 1, 1e9 + 2, 1e9 + 3}))->deviation, 1);
}

TEST(Statistics, ComplexNumbersCountByTheirMagnitude) {
  EXPECT_EQ(statistics_of(elements<float>(kComplex64, {3, 4}))->maximum, 5);
  EXPECT_FALSE(statistics_of(elements<uint8_t>(12, {1})));
}

TEST(Statistics, OfNumbersThatAreNoTensors) {
  Value value;
  value.kind = format::ValueKind::integer;
  value.integer = -7;
  EXPECT_EQ(statistics_at_hand(value)->mean, -7);
  value.kind = format::ValueKind::real;
  value.number = 0.5;
  EXPECT_EQ(statistics_at_hand(value)->maximum, 0.5);
  value.kind = format::ValueKind::text;
  EXPECT_FALSE(statistics_at_hand(value));
}

TEST(NumberOf, EachStatistic) {
  const Statistics statistics = *statistics_of(elements<float>(kFloat32, {1, -3, 0, NAN}));
  EXPECT_EQ(number_of(statistics, Stat::min), -3);
  EXPECT_EQ(number_of(statistics, Stat::max), 1);
  EXPECT_EQ(number_of(statistics, Stat::absmax), 3);
  EXPECT_EQ(number_of(statistics, Stat::nan), 0.25);
  EXPECT_EQ(number_of(statistics, Stat::zeros), 0.25);
  EXPECT_DOUBLE_EQ(*number_of(statistics, Stat::mean), -2 / 3.0);
  const Statistics none = *statistics_of(elements<float>(kFloat32, {NAN}));
  EXPECT_FALSE(number_of(none, Stat::mean));
  EXPECT_EQ(number_of(none, Stat::nan), 1);
  EXPECT_FALSE(number_of({}, Stat::zeros));
}

}  // namespace
}  // namespace tensorscope::values
