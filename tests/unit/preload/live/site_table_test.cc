// SPDX-License-Identifier: Apache-2.0
// Interning of stack pairs.
#include "live/site_table.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "live/thread_table.h"

namespace tensorscope::live {
namespace {

TEST(SiteTable, NoStackIsSiteZero) {
  auto table = std::make_unique<SiteTable>();
  ASSERT_TRUE(table->start());
  EXPECT_EQ(table->intern({0, 0}), 0u);
  EXPECT_EQ(table->size(), 1u);
}

TEST(SiteTable, APairIsOneSite) {
  auto table = std::make_unique<SiteTable>();
  ASSERT_TRUE(table->start());
  const SiteId site = table->intern({1, 2});
  EXPECT_EQ(table->intern({1, 2}), site);
  EXPECT_NE(table->intern({2, 1}), site);
  EXPECT_NE(table->intern({1, 0}), site);
  EXPECT_NE(table->intern({0, 2}), site);
  std::vector<SiteCounters> rows(table->size());
  table->copy(rows.data(), rows.size());
  EXPECT_EQ(rows[site].native, 1u);
  EXPECT_EQ(rows[site].python, 2u);
}

// As many as need every level of buckets: those of the earlier levels are found, too, and none twice.
TEST(SiteTable, AMillionPairsAreFoundAgain) {
  constexpr uint32_t kPairs = 1'200'000;
  auto table = std::make_unique<SiteTable>();
  ASSERT_TRUE(table->start());
  uint32_t wrong = 0;
  for (uint32_t i = 1; i <= kPairs; ++i) wrong += table->intern({i % 1000, i}) != i;
  for (uint32_t i = kPairs; i >= 1; --i) wrong += table->intern({i % 1000, i}) != i;
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(table->size(), kPairs + 1);
}

TEST(SiteTable, ThreadsAgreeOnTheSitesOfTheSameStacks) {
  constexpr uint32_t kStacks = 20000;
  constexpr size_t kThreads = 4;
  auto table = std::make_unique<SiteTable>();
  ASSERT_TRUE(table->start());
  std::vector<std::vector<SiteId>> seen(kThreads, std::vector<SiteId>(kStacks));
  std::vector<std::thread> threads;
  std::barrier together(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      together.arrive_and_wait();
      for (uint32_t i = 0; i < kStacks; ++i) seen[t][i] = table->intern({i + 1, i / 3});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table->size(), kStacks + 1);
  for (size_t t = 1; t < kThreads; ++t) EXPECT_EQ(seen[t], seen[0]);
  EXPECT_EQ(std::set<SiteId>(seen[0].begin(), seen[0].end()).size(), kStacks);
}

TEST(SiteTable, PeakIsTheHighestSumOfAnyMoment) {
  auto table = std::make_unique<SiteTable>();
  ASSERT_TRUE(table->start());
  const SiteId site = table->intern({1, 1});
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        table->allocation_made(site, 10);
        table->allocation_gone(site, 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  SiteCounters rows[2];
  table->copy(rows, 2);
  EXPECT_EQ(rows[site].bytes_live, 0u);
  EXPECT_EQ(rows[site].bytes_total, uint64_t{10} * kThreads * kRounds);
  EXPECT_EQ(rows[site].allocations_live, 0u);
  EXPECT_GE(rows[site].bytes_peak, 10u);
  EXPECT_LE(rows[site].bytes_peak, 10u * kThreads);
}

TEST(ThreadTable, IsBoundedAndKeepsNamesBeyond) {
  auto table = std::make_unique<ThreadTable>();
  ASSERT_TRUE(table->start());
  const char worker[16] = "worker";
  const char reader[16] = "reader";
  for (uint32_t tid = 1; tid < ThreadTable::kOwnRows; ++tid) ASSERT_EQ(table->add(tid, worker), tid);
  const ThreadId late = table->add(1000000, worker);
  EXPECT_EQ(table->add(1000001, worker), late);
  EXPECT_NE(table->add(1000002, reader), late);
  for (uint32_t i = 0; i < 2 * ThreadTable::kSharedRows; ++i) {
    char name[16] = {};
    snprintf(name, sizeof(name), "t%u", i);
    table->add(2000000 + i, name);
  }
  EXPECT_EQ(table->size(), ThreadTable::kOwnRows + ThreadTable::kSharedRows);
  const char last[16] = "one more";
  EXPECT_EQ(table->add(3000000, last), 0u);
  std::vector<ThreadEntry> rows(table->size());
  table->copy(rows.data(), rows.size());
  EXPECT_EQ(rows[late].tid, 0u);
  EXPECT_STREQ(rows[late].name, "worker");
  EXPECT_EQ(rows[77].tid, 77u);
}

}  // namespace
}  // namespace tensorscope::live
