// SPDX-License-Identifier: Apache-2.0
#include "dump/sort_by_serial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

using ::testing::ElementsAre;

struct Row {
  uint64_t serial;
  char what;
};

std::string whats(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) out += row.what;
  return out;
}

TEST(SortBySerial, LeavesRowsInOrderWhereTheyAre) {
  std::vector<Row> rows = {{1, 'a'}, {2, 'b'}, {9, 'c'}};
  const Row* const before = rows.data();
  std::vector<uint32_t> order;
  EXPECT_EQ(sort_by_serial(rows, order), 0u);
  EXPECT_EQ(rows.data(), before);
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(SortBySerial, OfASerialListedTwiceTheFirstRowStays) {
  std::vector<Row> rows = {{5, 'a'}, {2, 'b'}, {5, 'c'}, {1, 'd'}, {2, 'e'}};
  std::vector<uint32_t> order;
  EXPECT_EQ(sort_by_serial(rows, order), 2u);
  EXPECT_EQ(whats(rows), "dba");
  EXPECT_THAT(order, ElementsAre(3, 1, 0));
}

TEST(SortBySerial, ASerialListedTwiceInARowIsNotInOrder) {
  std::vector<Row> rows = {{1, 'a'}, {2, 'b'}, {2, 'c'}};
  std::vector<uint32_t> order;
  EXPECT_EQ(sort_by_serial(rows, order), 1u);
  EXPECT_EQ(whats(rows), "ab");
}

TEST(SerialIndex, FindsWhatALookAtEachRowFinds) {
  std::vector<Row> rows;
  for (uint64_t serial = 3; serial < 300; serial += 3) rows.push_back({serial, 'a'});
  SerialIndex index;
  EXPECT_EQ(index.find(3), UINT32_MAX);
  index.assign(rows);
  for (uint64_t serial = 0; serial < 310; ++serial) EXPECT_EQ(index.find(serial), row_with(rows, serial));
  for (uint64_t serial = 310; serial-- > 0;) EXPECT_EQ(index.find(serial), row_with(rows, serial));
  for (uint64_t serial : {3, 3, 6, 3, 297, 297, 6}) EXPECT_EQ(index.find(serial), row_with(rows, serial));
}

}  // namespace
}  // namespace tensorscope::analyzer
