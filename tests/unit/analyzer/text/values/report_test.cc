// SPDX-License-Identifier: Apache-2.0
#include "text/values/report.h"

#include <gtest/gtest.h>

namespace tensorscope::text {
namespace {

TEST(Sparkline, IsLowWhereTheCurveIsAndAsWideAsAllowed) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 20), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({7, 0}, 20), "█▁");
  EXPECT_EQ(sparkline({0, 2, 4, 6}, 2), "▁█");  // means 1 and 5
  EXPECT_EQ(sparkline({5, 5, 5}, 20), "▁▁▁");
  EXPECT_EQ(sparkline({5}, 20), "");
  EXPECT_EQ(sparkline({}, 20), "");
}

TEST(ValuesText, NumbersAreShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-3.14159), "-3.142");
  EXPECT_EQ(short_number(1.23456e-7), "1.235e-07");
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text({2, 3}), "[2, 3]");
}

TEST(ValuesText, ElementsThatAreNotFiniteAreCounted) {
  values::Statistics statistics;
  statistics.count = 8;
  EXPECT_EQ(bad_elements(statistics), "");
  statistics.nan = 2;
  EXPECT_EQ(bad_elements(statistics), "2 NaN of 8");
  statistics.positive_infinity = statistics.negative_infinity = 1;
  EXPECT_EQ(bad_elements(statistics), "2 NaN, 2 inf of 8");
}

}  // namespace
}  // namespace tensorscope::text
