// SPDX-License-Identifier: Apache-2.0
#include "support/dotted_path.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

TEST(DottedPath, PartsStandBetweenDots) {
  EXPECT_EQ(path_parts("model.layers.3"), (std::vector<std::string_view>{"model", "layers", "3"}));
  EXPECT_EQ(path_parts("model"), std::vector<std::string_view>{"model"});
  EXPECT_EQ(path_parts(""), std::vector<std::string_view>{""});
  EXPECT_EQ(path_parts("a..b."), (std::vector<std::string_view>{"a", "", "b", ""}));
}

TEST(DottedPath, NumbersHaveDigitsAlone) {
  EXPECT_TRUE(is_number("03"));
  EXPECT_FALSE(is_number(""));
  EXPECT_FALSE(is_number("3a"));
  EXPECT_FALSE(is_number("-3"));
}

TEST(DottedPath, WithinIsTheSameOrBelow) {
  EXPECT_TRUE(within("model.fc", "model.fc"));
  EXPECT_TRUE(within("model.fc.0", "model.fc"));
  EXPECT_FALSE(within("model.fc1", "model.fc"));
  EXPECT_FALSE(within("model", "model.fc"));
}

TEST(DottedPath, NumberedPartsAreStars) {
  EXPECT_EQ(with_wildcards("model.layers.3.attn"), "model.layers.*.attn");
  EXPECT_EQ(with_wildcards("0.12"), "*.*");
  EXPECT_EQ(with_wildcards("fc1"), "fc1");
  EXPECT_EQ(with_wildcards(".a"), ".a");
  EXPECT_EQ(with_wildcards(""), "");
}

}  // namespace
}  // namespace tensorscope::analyzer
