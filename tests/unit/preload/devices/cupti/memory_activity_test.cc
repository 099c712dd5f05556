// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/memory_activity.h"

#include <gtest/gtest.h>

#include <vector>

namespace tensorscope::cupti {
namespace {

MemoryEvent allocation(uint64_t address, uint64_t at_ns, uint64_t nbytes = 512) {
  MemoryEvent event;
  event.address = address;
  event.nbytes = nbytes;
  event.at_ns = at_ns;
  return event;
}
MemoryEvent release(uint64_t address, uint64_t at_ns) {
  MemoryEvent event = allocation(address, at_ns);
  event.state = MemoryState::released;
  return event;
}

class MemoryActivityTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(table_.start()); }
  void TearDown() override { table_.forget_in_child(); }
  std::vector<MemoryEvent> alive() {
    std::vector<MemoryEvent> rows(table_.live());
    rows.resize(table_.copy(rows.data(), rows.size(), totals_));
    return rows;
  }
  MemoryActivity table_;
  MemoryTotals totals_;
};

TEST_F(MemoryActivityTest, KeepsWhatIsNotReleased) {
  table_.record(allocation(0x1000, 1));
  table_.record(allocation(0x2000, 2, 4096));
  table_.record(release(0x1000, 3));
  const auto rows = alive();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].address, 0x2000u);
  EXPECT_EQ(rows[0].nbytes, 4096u);
  EXPECT_EQ(totals_.allocations, 2u);
  EXPECT_EQ(totals_.releases, 1u);
  EXPECT_EQ(totals_.unknown_releases, 0u);
}

TEST_F(MemoryActivityTest, TheOrderOfArrivalDoesNotMatter) {
  table_.record(release(0x1000, 2));
  table_.record(allocation(0x1000, 1));  // of another thread's buffer, which came later
  EXPECT_TRUE(alive().empty());
  EXPECT_EQ(totals_.unknown_releases, 0u);
}

TEST_F(MemoryActivityTest, AnAddressThatIsUsedAgainIsTheNewBlock) {
  table_.record(allocation(0x1000, 1, 100));
  table_.record(allocation(0x1000, 3, 200));
  table_.record(release(0x1000, 2));  // of the first one
  const auto rows = alive();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].nbytes, 200u);
  EXPECT_EQ(table_.live(), 1u);
}

TEST_F(MemoryActivityTest, ReleasesOfOlderMemoryAreCounted) {
  table_.record(release(0x1000, 2));
  EXPECT_TRUE(alive().empty());
  EXPECT_EQ(totals_.unknown_releases, 1u);
  EXPECT_TRUE(alive().empty());
  EXPECT_EQ(totals_.unknown_releases, 1u);
}

TEST_F(MemoryActivityTest, ManyShortLivesNeedNoRoom) {
  uint64_t now = 0;
  for (uint64_t i = 1; i <= 3 * MemoryActivity::kRows; ++i) {
    table_.record(allocation(i * 256, ++now));
    table_.record(release(i * 256, ++now));
  }
  EXPECT_TRUE(alive().empty());
  EXPECT_EQ(totals_.lost, 0u);
}

TEST_F(MemoryActivityTest, WhatFindsNoRoomIsCounted) {
  const uint64_t many = MemoryActivity::kRows;
  for (uint64_t i = 1; i <= many; ++i) table_.record(allocation(i * 256, i));
  const size_t kept = alive().size();
  EXPECT_GT(kept, many / 2);
  EXPECT_LT(kept, many);
  EXPECT_EQ(kept + totals_.lost, many);
}

}  // namespace
}  // namespace tensorscope::cupti
