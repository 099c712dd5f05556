// SPDX-License-Identifier: Apache-2.0
#include "find_nan/storage_marks.h"

#include <gtest/gtest.h>

#include <memory>

namespace tensorscope::find_nan {
namespace {

using tensor_values::TensorView;

TensorView storage(uint64_t address, uint64_t data) {
  TensorView view;
  view.storage = reinterpret_cast<const void*>(address);
  view.storage_data = reinterpret_cast<const void*>(data);
  return view;
}

TEST(StorageMarks, are_of_a_storage_and_its_memory) {
  const auto marks = std::make_unique<StorageMarks>();
  const TensorView one = storage(0x1000, 0x8000), moved = storage(0x1000, 0x9000);
  EXPECT_EQ(marks->get(one).flags, 0);
  marks->set(one, {Mark::kBad, 3});
  EXPECT_EQ(marks->get(one).flags, Mark::kBad);
  EXPECT_EQ(marks->get(one).origin, 3);
  EXPECT_EQ(marks->get(moved).flags, 0);
  marks->set(one, {});
  EXPECT_EQ(marks->get(one).flags, 0);
  EXPECT_FALSE(marks->is_made(one));
  marks->set_made(one);
  EXPECT_TRUE(marks->is_made(one));
  EXPECT_FALSE(marks->is_made(moved));
}

TEST(StorageMarks, of_too_many_the_oldest_are_forgotten) {
  const auto marks = std::make_unique<StorageMarks>();
  constexpr uint64_t kMany = 100'000;
  for (uint64_t i = 1; i <= kMany; ++i) marks->set(storage(i * 64, i), {Mark::kBad, 1});
  int known = 0;
  for (uint64_t i = kMany - 1000; i <= kMany; ++i) known += marks->get(storage(i * 64, i)).flags == Mark::kBad;
  EXPECT_EQ(known, 1001);
  EXPECT_EQ(marks->get(storage(64, 1)).flags, 0);
}

}  // namespace
}  // namespace tensorscope::find_nan
