// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::tensor_values {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

TEST(Nearest, TheDistanceCountsChangedCharacters) {
  EXPECT_EQ(distance("", ""), 0u);
  EXPECT_EQ(distance("layer", ""), 5u);
  EXPECT_EQ(distance("", "layer"), 5u);
  EXPECT_EQ(distance("layers.0", "layer.0"), 1u);
  EXPECT_EQ(distance("kitten", "sitting"), 3u);
}

TEST(Nearest, TheThreeNearestOfThoseThatAreMeant) {
  EXPECT_THAT(nearest_of("layer.1", Names{"layers.1", "layer.2", "head", "layer.10", "layers.12"}),
              ElementsAre("layer.10", "layer.2", "layers.1"));
  EXPECT_THAT(nearest_of("embedding", Names{"head", "norm"}), IsEmpty());
  EXPECT_THAT(nearest_of("embedding", Names{}), IsEmpty());
}

// Of two that are as far away the shorter one may be too far for its length, and the other is not.
TEST(Nearest, AShortNameDoesNotHideALongerOne) {
  EXPECT_THAT(nearest_of("layer", Names{"la", "layer.fc"}), ElementsAre("layer.fc"));
}

}  // namespace
}  // namespace tensorscope::tensor_values
