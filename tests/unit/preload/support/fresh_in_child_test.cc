// SPDX-License-Identifier: Apache-2.0
#include "support/fresh_in_child.h"

#include <gtest/gtest.h>

#include <atomic>

namespace tensorscope {
namespace {

struct Counts {
  std::atomic<int> events{0};
  int marks[3] = {};
  int unknown = -1;
};
constinit Counts g_counts;
FreshInChild g_fresh_counts{g_counts};

constinit thread_local int t_depth = 0;
int g_kept = 0;
FreshInChild g_fresh_depth{[] { t_depth = g_kept; }};

TEST(FreshInChild, EachFieldIsAsAtTheStart) {
  g_counts.events = 7;
  g_counts.marks[2] = 5;
  g_counts.unknown = 3;
  FreshInChild::make_all_anew();
  EXPECT_EQ(g_counts.events, 0);
  EXPECT_EQ(g_counts.marks[2], 0);
  EXPECT_EQ(g_counts.unknown, -1);
}

TEST(FreshInChild, WhatHasToBeFoundOutIsAskedFor) {
  t_depth = 4;
  g_kept = 1;
  FreshInChild::make_all_anew();
  EXPECT_EQ(t_depth, 1);
  EXPECT_EQ(g_kept, 1);
}

}  // namespace
}  // namespace tensorscope
