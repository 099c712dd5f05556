// SPDX-License-Identifier: Apache-2.0
#include "forecast/shape_relations.h"

#include <gtest/gtest.h>

#include <vector>

namespace tensorscope::analyzer::forecast {
namespace {

using Shape = std::vector<int64_t>;

TEST(ShapeRelations, OnesAndMissingDimensionsAreBroadcast) {
  EXPECT_TRUE(broadcasts(Shape{8}, Shape{4, 8}));
  EXPECT_TRUE(broadcasts(Shape{4, 1}, Shape{4, 8}));
  EXPECT_FALSE(broadcasts(Shape{4}, Shape{4, 8}));
  EXPECT_FALSE(broadcasts(Shape{2, 4, 8}, Shape{4, 8}));
  EXPECT_FALSE(broadcasts(Shape{}, Shape{4, 8}));
}

TEST(ShapeRelations, PartsJoinAlongOneDimensionOrANewOne) {
  EXPECT_TRUE(joins(Shape{4, 2}, Shape{4, 8}));
  EXPECT_TRUE(joins(Shape{4, 8}, Shape{4, 3, 8}));
  EXPECT_FALSE(joins(Shape{2, 2}, Shape{4, 8}));
  EXPECT_FALSE(joins(Shape{8}, Shape{4, 3, 8}));
}

TEST(ShapeRelations, APartDividesItsWholeInOneDimension) {
  EXPECT_TRUE(is_part(Shape{4, 2, 8}, Shape{4, 6, 8}));
  EXPECT_TRUE(is_part(Shape{4, 1, 2}, Shape{4, 8}));
  EXPECT_FALSE(is_part(Shape{4, 8}, Shape{4, 8}));
  EXPECT_FALSE(is_part(Shape{2, 2}, Shape{4, 8}));
  EXPECT_FALSE(is_part(Shape{4, 0}, Shape{4, 8}));
}

TEST(ShapeRelations, WhatIsPaddedFitsInAnyOrder) {
  EXPECT_TRUE(fits_into(Shape{4, 8}, Shape{4, 10}));
  EXPECT_TRUE(fits_into(Shape{8, 4}, Shape{4, 10}));
  EXPECT_FALSE(fits_into(Shape{4, 12}, Shape{4, 10}));
  EXPECT_FALSE(fits_into(Shape{4}, Shape{4, 10}));
}

}  // namespace
}  // namespace tensorscope::analyzer::forecast
