// SPDX-License-Identifier: Apache-2.0
#include "values/name_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tensorscope::values {
namespace {

TEST(LineTest, FewPointsAreThemselves) {
  Line line;
  for (int i = 0; i < 500; ++i) line.add({double(i), double(i * i)});
  const std::vector<Point> points = line.points();
  ASSERT_EQ(points.size(), 500u);
  EXPECT_EQ(points[499].y, 499.0 * 499.0);
}

TEST(LineTest, OfMillionsTheExtremesStayInOrder) {
  Line line;
  constexpr int kPoints = 1'000'000;
  for (int i = 0; i < kPoints; ++i) line.add({double(i), i == 777'777 ? 50.0 : i == 123'456 ? -50.0 : i % 3});
  const std::vector<Point> points = line.points();
  EXPECT_LE(points.size(), Line::kMax);
  EXPECT_GE(points.size(), Line::kMax / 4);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
  const auto [low, high] =
      std::minmax_element(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.y < b.y; });
  EXPECT_EQ(low->x, 123'456);
  EXPECT_EQ(high->x, 777'777);
}

TEST(LineTest, ANanBreaksTheLineAlsoAmongMany) {
  Line line;
  for (int i = 0; i < 5000; ++i) line.add({double(i), i == 2500 ? std::numeric_limits<double>::quiet_NaN() : i});
  const std::vector<Point> points = line.points();
  EXPECT_EQ(std::count_if(points.begin(), points.end(), [](const Point& point) { return std::isnan(point.y); }), 1);
}

}  // namespace
}  // namespace tensorscope::values
