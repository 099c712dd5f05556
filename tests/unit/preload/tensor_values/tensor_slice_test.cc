// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/tensor_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "tensor_values/statistics.h"

namespace tensorscope::tensor_values {
namespace {

using rules::SliceStep;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kFloat = 6;

SliceStep at(int64_t index) { return {.begin = index, .is_index = true}; }
SliceStep from(int64_t begin, int64_t end = INT64_MAX, int64_t every = 1) {
  return {.begin = begin, .end = end, .every = every};
}

// The elements of a part of [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]; nothing where it is refused.
std::optional<std::vector<float>> part(const std::vector<SliceStep>& slice, std::vector<int64_t> strides = {4, 1}) {
  std::vector<float> data(12);
  std::iota(data.begin(), data.end(), 0.0f);
  const std::vector<int64_t> sizes = {3, 4};
  const TensorView whole = {data.data(), sizes.data(), strides.data(), 12, 2, kFloat, 4, strides[1] == 1};
  TensorSlice taken;
  if (!taken.take(whole, slice)) return std::nullopt;
  std::vector<float> found;
  each_piece(taken.view(), [&](const void* elements, int64_t count) {
    const auto* begin = static_cast<const float*>(elements);
    found.insert(found.end(), begin, begin + count);
  });
  EXPECT_EQ(int64_t(found.size()), taken.view().numel);
  return found;
}

TEST(TensorSlice, IsWhatNumpyTakes) {
  EXPECT_THAT(*part({}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(*part({at(1)}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(*part({at(-1), at(-4)}), ElementsAre(8));
  EXPECT_THAT(*part({from(0), at(2)}), ElementsAre(2, 6, 10));
  EXPECT_THAT(*part({from(1), from(1, 3)}), ElementsAre(5, 6, 9, 10));
  EXPECT_THAT(*part({from(0, INT64_MAX, 2), from(0, INT64_MAX, 3)}), ElementsAre(0, 3, 8, 11));
  EXPECT_THAT(*part({from(-2), from(0, -3)}), ElementsAre(4, 8));
  EXPECT_THAT(*part({at(1)}, {1, 3}), ElementsAre(1, 4, 7, 10)) << "of a transposed tensor";
}

TEST(TensorSlice, EndsWhereTheTensorDoes) {
  EXPECT_THAT(*part({from(0, 99), from(2, 99)}), ElementsAre(2, 3, 6, 7, 10, 11));
  EXPECT_THAT(*part({from(7)}), IsEmpty());
  EXPECT_THAT(*part({from(2, 1)}), IsEmpty());
  EXPECT_THAT(*part({from(INT64_MIN, INT64_MIN)}), IsEmpty());
}

TEST(TensorSlice, ALargeStepTakesTheFirst) {
  EXPECT_THAT(*part({from(1, INT64_MAX, INT64_MAX), from(2, INT64_MAX, INT64_MAX)}), ElementsAre(6));
  EXPECT_THAT(*part({from(3, INT64_MAX, INT64_MAX)}), IsEmpty());
}

TEST(TensorSlice, IsRefusedWhereThereIsNoSuchElement) {
  EXPECT_EQ(part({at(3)}), std::nullopt);
  EXPECT_EQ(part({at(-4)}), std::nullopt);
  EXPECT_EQ(part({at(INT64_MIN)}), std::nullopt);
  EXPECT_EQ(part({at(0), at(0), at(0)}), std::nullopt) << "more dimensions than it has";
}

}  // namespace
}  // namespace tensorscope::tensor_values
