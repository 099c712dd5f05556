// SPDX-License-Identifier: Apache-2.0
#include "oom/failure_limits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/fresh_in_child.h"

namespace tensorscope::oom {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class FailureLimitsTest : public testing::Test {
 protected:
  bool count(SiteId site, uint64_t now_ns) { return limits_.count(site, now_ns, settings_, counts_); }
  FailureLimits limits_;
  FailureLimits::Settings settings_{5, 60 * kSecond};
  FailureLimits::Counts counts_;
};

TEST_F(FailureLimitsTest, AllowOneDumpASiteWithinTheInterval) {
  EXPECT_TRUE(count(7, 100 * kSecond));
  EXPECT_FALSE(count(7, 100 * kSecond));
  EXPECT_FALSE(count(7, 160 * kSecond - 1));
  EXPECT_TRUE(count(8, 160 * kSecond - 1));
  EXPECT_TRUE(count(7, 160 * kSecond));
  EXPECT_FALSE(count(7, 219 * kSecond));  // since the second dump
}

TEST_F(FailureLimitsTest, AllowSoManyInAll) {
  for (SiteId site = 1; site <= 5; ++site) EXPECT_TRUE(count(site, kSecond)) << site;
  EXPECT_FALSE(limits_.more(settings_));
  EXPECT_FALSE(count(6, kSecond));
  EXPECT_FALSE(count(1, 1000 * kSecond));
}

TEST_F(FailureLimitsTest, AllowNoneAtAll) {
  settings_.most_dumps = 0;
  EXPECT_FALSE(limits_.more(settings_));
  EXPECT_FALSE(count(1, kSecond));
}

TEST_F(FailureLimitsTest, AllowEveryFailureWithoutAnInterval) {
  settings_.interval_ns = 0;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(count(1, kSecond));
  EXPECT_FALSE(count(1, kSecond));
}

TEST_F(FailureLimitsTest, CountWhatHadNoDump) {
  count(1, kSecond);
  EXPECT_EQ(counts_.failures, 1u);
  EXPECT_EQ(counts_.without_dump, 0u);
  for (int i = 0; i < 999; ++i) count(1, 2 * kSecond);
  EXPECT_EQ(counts_.failures, 1000u);
  EXPECT_EQ(counts_.without_dump, 999u);
  count(2, 2 * kSecond);
  EXPECT_EQ(counts_.failures, 1001u);
  EXPECT_EQ(counts_.without_dump, 999u);
}

// A site whose dump is still remembered is held back by it also behind many others; the oldest is forgotten first.
TEST_F(FailureLimitsTest, RememberTheLatestSites) {
  settings_.most_dumps = 1000;
  for (SiteId site = 1; site <= 100; ++site) EXPECT_TRUE(count(site, kSecond + site));
  for (SiteId site = 100 - 63; site <= 100; ++site) EXPECT_FALSE(count(site, 2 * kSecond)) << site;
  EXPECT_TRUE(count(1, 2 * kSecond));
}

TEST_F(FailureLimitsTest, BeginAnewInAChild) {
  settings_.most_dumps = 1;
  EXPECT_TRUE(count(1, kSecond));
  EXPECT_FALSE(count(2, kSecond));
  make_anew(limits_);
  EXPECT_TRUE(limits_.more(settings_));
  EXPECT_TRUE(count(1, kSecond));
  EXPECT_EQ(counts_.failures, 1u);
  EXPECT_EQ(counts_.without_dump, 0u);
}

TEST_F(FailureLimitsTest, LetOneOfManyThreadsPass) {
  std::atomic<int> dumps{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      FailureLimits::Counts counts;
      for (int k = 0; k < 1000; ++k) dumps += limits_.count(3, kSecond, settings_, counts);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(dumps, 1);
  count(3, kSecond);
  EXPECT_EQ(counts_.failures, 8001u);
}

}  // namespace
}  // namespace tensorscope::oom
