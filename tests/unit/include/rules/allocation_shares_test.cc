// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/allocation_shares.h"

#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

TEST(AllocationShares, EachByteCountsOnceAndTheRestIsTheFirstStorages) {
  AllocationShares shares({512, 100, 64});
  EXPECT_EQ(shares.claim(0, 300, 7), 300u);
  EXPECT_EQ(shares.claim(0, 200, 8), 200u);
  EXPECT_EQ(shares.left(0), 12u);
  EXPECT_EQ(shares.first_item(0), 7u);
  EXPECT_EQ(shares.claim(1, 150, 9), 100u);  // more than there is
  EXPECT_EQ(shares.left(1), 0u);
  EXPECT_EQ(shares.claim(1, 1, 10), 0u);
  EXPECT_EQ(shares.first_item(1), 9u);
  EXPECT_EQ(shares.first_item(2), AllocationShares::kNoItem);
  EXPECT_EQ(shares.left(2), 64u);
}

}  // namespace
}  // namespace tensorscope::rules
