// SPDX-License-Identifier: Apache-2.0
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
  // As capture.cc does. True: it was the pair that was expected.
  bool capture(uint32_t python, uint32_t native) {
    const bool expected = next_is(python, native);
    expected ? captures->take_next() : follow(python, native);
    return expected;
  }
  std::unique_ptr<RememberedCaptures> captures{new RememberedCaptures()};
};

TEST_F(RememberedCapturesTest, NothingIsExpectedAtFirst) {
  EXPECT_EQ(captures->next().native_node, 0u);
  EXPECT_EQ(captures->last().native_node, 0u);
}

TEST_F(RememberedCapturesTest, ALoopHasItsPairsInTheSameOrder) {
  for (int round = 0; round < 4; ++round) {
    for (uint32_t i = 0; i < 3; ++i) follow(i, 10 + i) = 70 + i;
  }
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(next_is(i, 10 + i)) << round << " " << i;
      EXPECT_EQ(captures->take_next(), 70 + i);
      EXPECT_EQ(captures->last().python, i);
    }
  }
}

// The layers of a model have the same pairs, and something else follows the last one.
TEST_F(RememberedCapturesTest, WhatCameBeforeTellsWhatComesAfterTheSamePair) {
  const auto round = [this] {
    int missed = 0;
    for (const uint32_t layers : {3, 2}) {
      for (uint32_t layer = 0; layer < layers; ++layer) {
        for (const uint32_t pair : {1, 2}) missed += !capture(pair, pair);
      }
      missed += !capture(10 + layers, 1);
    }
    return missed;
  };
  for (int i = 0; i < 4; ++i) round();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(round(), 0);
}

TEST_F(RememberedCapturesTest, ALoopThatChangesIsLearntAnew) {
  for (int i = 0; i < 20; ++i) capture(1, uint32_t(i % 3));
  for (int i = 0; i < 20; ++i) capture(1, uint32_t(i % 2));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(capture(1, uint32_t(i % 2))) << i;
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
