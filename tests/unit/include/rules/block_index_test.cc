// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/block_index.h"

#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

using Blocks = std::vector<std::pair<uint64_t, uint64_t>>;  // begin, size

int found(const Blocks& blocks, uint64_t address, const std::vector<uint32_t>& indexed) {
  const auto bounds = [&](uint32_t i) { return blocks[i]; };
  const std::optional<uint32_t> block = BlockIndex(indexed, bounds).find(address);
  return block ? int(*block) : -1;
}

TEST(BlockIndex, FindsTheBlockOfAnAddress) {
  const Blocks blocks = {{300, 10}, {100, 10}, {200, 0}};
  const std::vector<uint32_t> all = {0, 1, 2};
  EXPECT_EQ(found(blocks, 99, all), -1);
  EXPECT_EQ(found(blocks, 100, all), 1);
  EXPECT_EQ(found(blocks, 109, all), 1);
  EXPECT_EQ(found(blocks, 110, all), -1);
  EXPECT_EQ(found(blocks, 200, all), 2);  // has no size
  EXPECT_EQ(found(blocks, 201, all), -1);
  EXPECT_EQ(found(blocks, 305, all), 0);
  EXPECT_EQ(found(blocks, 305, {1, 2}), -1);
  EXPECT_EQ(found({}, 0, {}), -1);
}

TEST(BlockIndex, OfNestedBlocksTheInnerOneThenTheOneAround) {
  const Blocks blocks = {{100, 100}, {120, 10}, {140, 10}, {400, 10}};
  const std::vector<uint32_t> all = {0, 1, 2, 3};
  EXPECT_EQ(found(blocks, 110, all), 0);
  EXPECT_EQ(found(blocks, 125, all), 1);
  EXPECT_EQ(found(blocks, 135, all), 0);
  EXPECT_EQ(found(blocks, 145, all), 2);
  EXPECT_EQ(found(blocks, 199, all), 0);
  EXPECT_EQ(found(blocks, 200, all), -1);
}

}  // namespace
}  // namespace tensorscope::rules
