// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/virtual_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tensorscope::cupti {
namespace {

class VirtualMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(table_.start()); }
  void TearDown() override { table_.forget_in_child(); }
  std::vector<MemoryEvent> alive() {
    std::vector<MemoryEvent> rows(table_.live() + 1);
    rows.resize(table_.copy(rows.data(), rows.size()));
    return rows;
  }
  VirtualMemory table_;
};

TEST_F(VirtualMemoryTest, LivesWhileAHandleOrAMappingHoldsIt) {
  table_.created(7, 2048, 1, 30, 99);
  ASSERT_EQ(alive().size(), 1u);
  EXPECT_EQ(alive()[0].address, 0u);
  EXPECT_EQ(alive()[0].nbytes, 2048u);
  EXPECT_EQ(alive()[0].device, 1);
  EXPECT_EQ(alive()[0].site, 30u);
  EXPECT_EQ(alive()[0].kind, kPhysicalMemory);
  table_.mapped(0x10000, 2048, 7);
  table_.released(7);  // as most programs do once it is mapped
  ASSERT_EQ(alive().size(), 1u);
  EXPECT_EQ(alive()[0].address, 0x10000u);
  table_.retained(7);
  table_.unmapped(0x10000, 2048);
  ASSERT_EQ(alive().size(), 1u);
  EXPECT_EQ(alive()[0].address, 0u);
  table_.released(7);
  EXPECT_TRUE(alive().empty());
}

TEST_F(VirtualMemoryTest, OneCallUnmapsAll) {
  for (uint64_t i = 1; i <= 4; ++i) {
    table_.created(i, 4096, 0, 0, i);
    table_.mapped(0x10000 + (i - 1) * 4096, 4096, i);
    table_.released(i);
  }
  table_.unmapped(0x10000, 3 * 4096);
  ASSERT_EQ(alive().size(), 1u);
  EXPECT_EQ(alive()[0].address, 0x13000u);
}

TEST_F(VirtualMemoryTest, WhatIsNotKnownIsIgnored) {
  table_.released(5);
  table_.retained(5);
  table_.mapped(0x10000, 4096, 5);  // imported from another process
  table_.unmapped(0x10000, 4096);
  EXPECT_TRUE(alive().empty());
  EXPECT_EQ(table_.lost(), 0u);
}

TEST_F(VirtualMemoryTest, RowsAreFoundWhateverWasRemoved) {
  std::mt19937_64 random(1);
  std::map<uint64_t, uint64_t> expected;
  for (int i = 0; i < 200000; ++i) {
    const uint64_t handle = random() % 5000 + 1;
    if (expected.erase(handle) != 0) {
      table_.released(handle);
    } else {
      expected[handle] = uint64_t(i + 1);
      table_.created(handle, uint64_t(i + 1), 0, 0, 0);
    }
  }
  std::map<uint64_t, int> sizes;
  for (const auto& [handle, nbytes] : expected) ++sizes[nbytes];
  for (const MemoryEvent& row : alive()) --sizes[row.nbytes];
  for (const auto& [nbytes, difference] : sizes) EXPECT_EQ(difference, 0) << nbytes;
}

TEST_F(VirtualMemoryTest, WhatFindsNoRoomIsCounted) {
  for (uint64_t i = 1; i <= VirtualMemory::kRows; ++i) table_.created(i, 1, 0, 0, 0);
  EXPECT_EQ(table_.live() + table_.lost(), VirtualMemory::kRows);
  EXPECT_GT(table_.lost(), 0u);
}

TEST(VirtualCalls, AreReadWhereTheySucceeded) {
  ASSERT_TRUE(g_virtual_memory.start());
  uint64_t handle = 11;
  const int32_t properties[] = {1, 0, 1, 2};  // pinned, no handle type, on device 2
  const struct {
    uint64_t* handle;
    size_t nbytes;
    const int32_t* properties;
    unsigned long long flags;
  } parameters = {&handle, 4096, properties, 0};
  int result = 2;
  CallData data{};
  data.site = 1;
  data.parameters = &parameters;
  data.returned = &result;
  virtual_call_ended(549, data, 3);
  EXPECT_EQ(g_virtual_memory.live(), 0u);
  result = 0;
  virtual_call_ended(549, data, 3);
  MemoryEvent row;
  ASSERT_EQ(g_virtual_memory.copy(&row, 1), 1u);
  EXPECT_EQ(row.nbytes, 4096u);
  EXPECT_EQ(row.device, 2);
  EXPECT_EQ(row.site, 3u);
  data.parameters = &handle;
  virtual_call_ended(550, data, 0);
  EXPECT_EQ(g_virtual_memory.live(), 0u);
  g_virtual_memory.forget_in_child();
}

}  // namespace
}  // namespace tensorscope::cupti
