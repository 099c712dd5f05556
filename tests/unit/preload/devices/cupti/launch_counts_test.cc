// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/launch_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "devices/cupti/launch_sites.h"

namespace tensorscope::cupti {
namespace {

LaunchCounts kernels(uint64_t count) {
  LaunchCounts one;
  one.kernels = count;
  one.kernel_ns = 10 * count;
  return one;
}

TEST(LaunchTable, AddsUpForEachSite) {
  LaunchTable table;
  ASSERT_TRUE(table.start());
  table.count(7, kernels(1));
  table.count(9, kernels(5));
  table.count(7, kernels(2));
  std::vector<LaunchCounts> rows(table.size());
  ASSERT_EQ(table.copy(rows.data(), rows.size()), 2u);
  for (const LaunchCounts& row : rows) {
    EXPECT_EQ(row.kernels, row.site == 7 ? 3u : 5u);
    EXPECT_EQ(row.kernel_ns, 10 * row.kernels);
  }
}

TEST(LaunchTable, WhatFindsNoRoomCountsForNoSite) {
  LaunchTable table;
  ASSERT_TRUE(table.start());
  for (SiteId site = 1; site <= LaunchTable::kSites; ++site) table.count(site, kernels(1));
  std::vector<LaunchCounts> rows(table.size());
  ASSERT_EQ(table.copy(rows.data(), rows.size()), rows.size());
  uint64_t sum = 0, without = 0;
  for (const LaunchCounts& row : rows) {
    sum += row.kernels;
    if (row.site == 0) without += row.kernels;
  }
  EXPECT_EQ(sum, LaunchTable::kSites);
  EXPECT_EQ(without, LaunchTable::kSites - (rows.size() - 1));
}

TEST(LaunchSites, KeepTheLatestCalls) {
  LaunchSites sites;
  ASSERT_TRUE(sites.start());
  sites.note(5, 50);
  EXPECT_TRUE(sites.knows(5));
  EXPECT_EQ(sites.find(5), 50u);
  EXPECT_EQ(sites.find(6), 0u);
  sites.note(5 + LaunchSites::kSlots, 51);
  EXPECT_EQ(sites.find(5), 0u);
  EXPECT_EQ(sites.find(5 + LaunchSites::kSlots), 51u);
}

}  // namespace
}  // namespace tensorscope::cupti
