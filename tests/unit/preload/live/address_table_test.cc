// SPDX-License-Identifier: Apache-2.0
// The hash table under all live tables, against std::unordered_map.
#include "live/address_table.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tensorscope::live {
namespace {

struct TestRow : AddressRow {
  uint64_t value;
  bool in_index;
  bool indexed() const { return in_index; }
};
using Table = AddressTable<TestRow>;

const void* address(uint64_t i) { return reinterpret_cast<const void*>(0x7f0000000000 + i * 64); }

class AddressTableTest : public testing::Test {
 protected:
  void put(uint64_t i, uint64_t value) {
    Table::Guard guard(table_, address(i));
    ASSERT_TRUE(guard);
    Table::Position place = guard.find(address(i));
    if (place.row == nullptr) {
      ASSERT_NE(guard.insert(address(i), place), nullptr);
    }
    place.row->value = value;
    place.row->in_index = true;
    place.row->serial.store(i + 1);
  }
  void erase(uint64_t i) {
    Table::Guard guard(table_, address(i));
    const Table::Position place = guard.find(address(i));
    if (place.row != nullptr) guard.erase(place);
  }
  // 0: not there.
  uint64_t get(uint64_t i) {
    Table::Guard guard(table_, address(i));
    const Table::Position place = guard.find(address(i));
    return place.row == nullptr ? 0 : place.row->value;
  }

  Table table_;
};

TEST_F(AddressTableTest, IsEmptyAtFirst) {
  EXPECT_EQ(get(1), 0u);
  EXPECT_EQ(table_.size(), 0u);
  erase(1);
  table_.prefetch(address(1));
}

TEST_F(AddressTableTest, AgreesWithAMapOverARandomHistory) {
  std::unordered_map<uint64_t, uint64_t> truth;
  std::mt19937_64 random(7);
  for (uint64_t step = 1; step <= 400000; ++step) {
    // Grows to a hundred thousand, then shrinks, so that tombstones and rebuilding both happen.
    const uint64_t i = random() % 150000;
    const bool grow = step < 250000;
    if (random() % 4 < (grow ? 3u : 1u)) {
      put(i, step);
      truth[i] = step;
    } else {
      erase(i);
      truth.erase(i);
    }
  }
  EXPECT_EQ(table_.size(), truth.size());
  for (uint64_t i = 0; i < 150000; ++i) {
    const auto known = truth.find(i);
    ASSERT_EQ(get(i), known == truth.end() ? 0 : known->second) << i;
  }
  ASSERT_TRUE(table_.lock_all());
  std::unordered_set<const void*> walked;
  table_.for_each([&](const TestRow& row, uint32_t) { EXPECT_TRUE(walked.insert(row.key).second); });
  table_.unlock_all();
  EXPECT_EQ(walked.size(), truth.size());
  for (const auto& [i, value] : truth) EXPECT_TRUE(walked.contains(address(i)));
}

TEST_F(AddressTableTest, ChurnAtAConstantSizeTakesNoMoreMemory) {
  for (uint64_t i = 0; i < 20000; ++i) put(i, 1);
  const auto churn = [&](uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      erase(i);
      put(i + 20000, 1);
    }
  };
  churn(0, 100000);
  const uint64_t before = mapped_bytes();
  churn(100000, 1000000);
  EXPECT_LE(mapped_bytes(), before + (64 << 10));
  EXPECT_EQ(table_.size(), 20000u);
}

TEST_F(AddressTableTest, ARowOutlivesItsKeyUntilItIsReleased) {
  put(1, 11);
  uint32_t number = 0;
  RowId id = 0;
  {
    Table::Guard guard(table_, address(1));
    const Table::Position place = guard.find(address(1));
    id = guard.id(place);
    number = place.number;
    guard.unlink(place);
    place.row->in_index = false;
  }
  EXPECT_EQ(get(1), 0u);
  for (uint64_t i = 2; i < 100000; ++i) put(i, i);  // rebuilds the index, which must not take the row in again
  EXPECT_EQ(get(1), 0u);
  put(1, 12);
  {
    Table::Guard guard = Table::Guard::of_row(table_, id);
    EXPECT_EQ(guard.row(id).value, 11u);
    guard.release(number);
  }
  EXPECT_EQ(get(1), 12u);
  EXPECT_EQ(table_.size(), 99999u);
}

}  // namespace
}  // namespace tensorscope::live
