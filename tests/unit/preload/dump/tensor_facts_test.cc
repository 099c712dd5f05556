// SPDX-License-Identifier: Apache-2.0
// Which tensors' facts are kept where there is no room for all.
#include "dump/tensor_facts.h"

#include <gtest/gtest.h>

#include <vector>

namespace tensorscope::dump {
namespace {

std::vector<Serial> kept(size_t room, const std::vector<uint64_t>& sizes, size_t most = SIZE_MAX) {
  TensorFactRows rows;
  EXPECT_TRUE(rows.reserve(room));
  Serial serial = 0;
  for (const uint64_t size : sizes) {
    TensorFacts facts;
    facts.serial = ++serial;
    facts.storage_nbytes = size;
    rows.add(facts);
  }
  std::vector<Serial> serials;
  for (const TensorFacts& facts : rows.largest(most)) serials.push_back(facts.serial);
  return serials;
}

TEST(TensorFactRows, AllWhereThereIsRoom) { EXPECT_EQ(kept(3, {5, 9, 1}), (std::vector<Serial>{1, 2, 3})); }

TEST(TensorFactRows, TheLargestInTheOrderOfTheirSerials) {
  EXPECT_EQ(kept(2, {5, 9, 1, 7, 8}), (std::vector<Serial>{2, 5}));
  EXPECT_EQ(kept(3, {1, 2, 3, 4, 5, 6}), (std::vector<Serial>{4, 5, 6}));
  EXPECT_EQ(kept(3, {6, 5, 4, 3, 2, 1}), (std::vector<Serial>{1, 2, 3}));
  EXPECT_EQ(kept(2, {4, 4, 4, 4}), (std::vector<Serial>{1, 2}));  // of equals the first
}

TEST(TensorFactRows, FewerAreTakenAfterwards) {
  EXPECT_EQ(kept(3, {5, 9, 1, 7, 8}, 1), (std::vector<Serial>{2}));
  EXPECT_EQ(kept(5, {5, 9, 1, 7, 8}, 2), (std::vector<Serial>{2, 5}));
  EXPECT_TRUE(kept(5, {5, 9}, 0).empty());
}

TEST(TensorFactRows, NoRoomIsNone) { EXPECT_TRUE(kept(0, {5, 9}).empty()); }

}  // namespace
}  // namespace tensorscope::dump
