#include "stacks/remembered_captures.h"

#include <gtest/gtest.h>

#include <memory>

namespace tensorscope::stacks {
namespace {

class RememberedCapturesTest : public testing::Test {
 protected:
  // A pair of stacks with these numbers, whose nodes are told from the numbers.
  uint32_t& follow(uint32_t python, uint32_t native) {
    return captures->follow({python, native, 100 + python, 200 + native});
  }
  bool next_is(uint32_t python, uint32_t native) const {
    const auto& next = captures->next();
    return next.python == python && next.native == native && next.python_node == 100 + python &&
           next.native_node == 200 + native;
  }
  std::unique_ptr<RememberedCaptures> captures{new RememberedCaptures()};
};

TEST_F(RememberedCapturesTest, NothingIsExpectedAtFirst) {
  EXPECT_EQ(captures->next().native_node, 0u);
  EXPECT_EQ(captures->last().native_node, 0u);
}

TEST_F(RememberedCapturesTest, ALoopHasItsPairsInTheSameOrder) {
  for (uint32_t i = 0; i < 3; ++i) follow(i, 10 + i) = 70 + i;
  EXPECT_EQ(follow(0, 10), 70u);
  for (int turn = 0; turn < 3; ++turn) {
    for (const uint32_t i : {1, 2, 0}) {
      ASSERT_TRUE(next_is(i, 10 + i)) << turn << " " << i;
      EXPECT_EQ(captures->take_next(), 70 + i);
      EXPECT_EQ(captures->last().python, i);
    }
  }
}

TEST_F(RememberedCapturesTest, WhatCameNextTheLastTimeIsExpected) {
  follow(1, 1);
  follow(2, 2);
  follow(1, 1);
  EXPECT_TRUE(next_is(2, 2));
  follow(3, 3);
  follow(1, 1);
  EXPECT_TRUE(next_is(3, 3));
}

TEST_F(RememberedCapturesTest, OnePythonStackHasSeveralNativeOnes) {
  follow(1, 1) = 11;
  follow(1, 2) = 12;
  follow(2, 1) = 21;
  EXPECT_EQ(follow(1, 1), 11u);
  EXPECT_EQ(follow(1, 2), 12u);
  EXPECT_EQ(follow(2, 1), 21u);
}

// The tables of stacks give a number to another stack once its first one is forgotten.
TEST_F(RememberedCapturesTest, ANoteIsOfTheStacksNotOfTheirNumbers) {
  follow(1, 1) = 5;
  EXPECT_EQ(captures->follow({1, 1, 101, 999}), 0u);
  EXPECT_EQ(captures->last().native_node, 999u);
  captures->follow({1, 1, 101, 999}) = 6;
  EXPECT_EQ(captures->follow({1, 1, 998, 999}), 0u);
}

TEST_F(RememberedCapturesTest, ThereAreMorePairsThanRoom) {
  for (uint32_t i = 0; i < 20'000; ++i) {
    uint32_t& note = follow(i, i % 7);
    ASSERT_EQ(note, 0u) << i;
    note = i + 1;
    ASSERT_EQ(follow(i, i % 7), i + 1);
  }
}

}  // namespace
}  // namespace tensorscope::stacks
