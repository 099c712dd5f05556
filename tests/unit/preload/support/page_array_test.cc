// SPDX-License-Identifier: Apache-2.0
#include "support/page_array.h"

#include <gtest/gtest.h>

#include "support/enough_memory.h"
#include "support/pages.h"

namespace tensorscope {
namespace {

TEST(PageArray, KeepsItsValuesWhileItGrowsAndGivesItsPagesBack) {
  constexpr uint32_t kMany = 1'000'000;
  const uint64_t before = mapped_bytes();
  {
    PageArray<uint32_t> numbers;
    for (uint32_t i = 0; i < kMany; ++i) ASSERT_TRUE(numbers.push(i));
    for (uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(numbers[i], i);
    EXPECT_EQ(numbers.size(), kMany);
    EXPECT_LT(mapped_bytes() - before, kMany * sizeof(uint32_t) * 3 / 2);
    PageArray<uint32_t> moved = std::move(numbers);
    EXPECT_TRUE(numbers.empty());
    EXPECT_EQ(moved.back(), kMany - 1);
    moved.reset();
    EXPECT_EQ(mapped_bytes(), before);
  }
  EXPECT_EQ(mapped_bytes(), before);
}

TEST(PageArray, NewValuesAreZeroAlsoWhereOthersWere) {
  PageArray<uint64_t> numbers;
  for (uint64_t i = 1; i <= 100; ++i) numbers.push(i);
  numbers.clear();
  ASSERT_TRUE(numbers.resize(50));
  for (const uint64_t number : numbers) EXPECT_EQ(number, 0u);
  ASSERT_TRUE(numbers.resize(200));
  for (const uint64_t number : numbers) EXPECT_EQ(number, 0u);
}

TEST(PageArray, RoomForWhatTheCallerWrites) {
  PageArray<uint8_t> bytes;
  constexpr size_t kMuch = size_t{9} << 20;  // large pages
  ASSERT_TRUE(bytes.push(1));
  uint8_t* const much = bytes.add_unwritten(kMuch);
  ASSERT_EQ(much, bytes.begin() + 1);
  memset(much, 2, kMuch);
  EXPECT_EQ(bytes.size(), kMuch + 1);
  EXPECT_EQ(bytes.back(), 2);
  EXPECT_EQ(bytes.add_unwritten(SIZE_MAX), nullptr);
  bytes.clear();
  ASSERT_NE(bytes.add_unwritten(10), nullptr);
  ASSERT_TRUE(bytes.resize(kMuch));
  for (size_t i = 10; i < kMuch; ++i) ASSERT_EQ(bytes[i], 0);
}

TEST(PageArray, RoomForNothingIsNoWantOfMemory) {
  PageArray<uint64_t> numbers;
  EXPECT_NE(numbers.add_unwritten(0), nullptr);
  EXPECT_TRUE(numbers.empty());
}

TEST(PageArray, DoesNotGrowBeyondTheLimit) {
  constexpr uint64_t kLimit = uint64_t{1} << 20;
  MemoryLimit limit(kLimit);
  PageArray<char> bytes;
  while (bytes.push('x')) {
  }
  EXPECT_EQ(bytes.size(), kLimit);
  EXPECT_EQ(limit.taken(), kLimit);
  PageArray<char> others;
  EXPECT_FALSE(others.resize(1));
  bytes.reset();
  EXPECT_EQ(limit.taken(), 0u);
  EXPECT_EQ(limit.peak_taken(), kLimit);
  EXPECT_TRUE(others.resize(kLimit));
  EXPECT_FALSE(others.resize(SIZE_MAX));
}

}  // namespace
}  // namespace tensorscope
