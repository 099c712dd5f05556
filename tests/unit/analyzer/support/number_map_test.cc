// SPDX-License-Identifier: Apache-2.0
#include "support/number_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tensorscope::analyzer {
namespace {

TEST(NumberMap, KeepsTheFirstNumberOfAKey) {
  NumberMap map(2);
  EXPECT_EQ(map.find(0x1000), NumberMap::kNone);
  EXPECT_EQ(map.add(0x1000, 7), 7u);
  EXPECT_EQ(map.add(0x1000, 8), 7u);
  EXPECT_EQ(map.add(0, 9), 9u);  // a key like any other
  EXPECT_EQ(map.find(0x1000), 7u);
  EXPECT_EQ(map.find(0), 9u);
  EXPECT_EQ(map.find(0x2000), NumberMap::kNone);
}

TEST(NumberMap, AgreesWithAnOrderedMapAndGrows) {
  std::mt19937_64 random(1);
  for (const size_t expected : {size_t{0}, size_t{100}, size_t{10'000}}) {
    NumberMap map(expected);
    std::map<uint64_t, uint32_t> known;
    for (uint32_t i = 0; i < 5'000; ++i) {
      const uint64_t key = (random() % 4'000) << 12;  // addresses have zeros at their end
      EXPECT_EQ(map.add(key, i), known.try_emplace(key, i).first->second);
    }
    for (uint64_t key = 0; key < 4'000; ++key) {
      const auto found = known.find(key << 12);
      EXPECT_EQ(map.find(key << 12), found == known.end() ? NumberMap::kNone : found->second);
    }
  }
}

}  // namespace
}  // namespace tensorscope::analyzer
