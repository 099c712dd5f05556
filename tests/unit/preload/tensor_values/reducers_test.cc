// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/reducers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tensorscope::tensor_values {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kDouble = 7;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

struct Tensor {
  explicit Tensor(std::vector<double> elements, std::vector<int64_t> shape = {}, std::vector<int64_t> steps = {1})
      : data(std::move(elements)), sizes(std::move(shape)), strides(std::move(steps)) {
    if (sizes.empty()) sizes = {int64_t(data.size())};
    view = {data.data(), sizes.data(),       strides.data(), int64_t(data.size()), int(sizes.size()), kDouble,
            8,           strides.back() == 1};
  }
  std::vector<double> data;
  std::vector<int64_t> sizes, strides;
  TensorView view;
};

template <typename Reduce>
std::vector<double> reduced(Reduce reduce) {
  PageArray<double> out;
  EXPECT_TRUE(reduce(out));
  return {out.begin(), out.begin() + out.size()};
}
std::vector<double> norms(const Tensor& tensor) {
  return reduced([&](PageArray<double>& out) { return norms_of(tensor.view, out); });
}
std::vector<double> quantiles(const Tensor& tensor) {
  return reduced([&](PageArray<double>& out) { return quantiles_of(tensor.view, out); });
}
std::vector<double> histogram(const Tensor& tensor) {
  Statistics statistics;
  EXPECT_TRUE(statistics_of(tensor.view, statistics));
  return reduced([&](PageArray<double>& out) { return histogram_of(tensor.view, statistics, out); });
}

TEST(Reducers, ANormForEachItem) {
  EXPECT_THAT(norms(Tensor({3, 4, 0, 5, 12, kNan}, {3, 2}, {2, 1})), ElementsAre(5, 5, 12));
  EXPECT_THAT(norms(Tensor({3, 4, 0, 5, 12, 0}, {2, 3}, {1, 2})), ElementsAre(std::sqrt(153.0), std::sqrt(41.0)))
      << "of a transposed tensor";
  EXPECT_THAT(norms(Tensor({}, {0, 2}, {2, 1})), IsEmpty());
  Tensor scalar({-7});
  scalar.view.ndim = 0;
  EXPECT_THAT(norms(scalar), ElementsAre(7));
}

TEST(Reducers, MoreItemsThanASeriesHasAreRefused) {
  const Tensor many(std::vector<double>(kMaxItems + 1, 1.0));
  PageArray<double> out;
  EXPECT_FALSE(norms_of(many.view, out));
}

TEST(Reducers, TheHashIsOfTheElementsAndNotOfTheirPlaces) {
  const Tensor plain({1, 2, 3, 4, 5, 6}, {3, 2}, {2, 1}), transposed({1, 3, 5, 2, 4, 6}, {3, 2}, {1, 3});
  EXPECT_EQ(hash_of(plain.view), hash_of(transposed.view));
  EXPECT_NE(hash_of(plain.view), hash_of(Tensor({1, 2, 3, 4, 5, -6}).view));
  EXPECT_EQ(hash_of(Tensor({}).view), hash_of(Tensor({}, {0, 4}, {4, 1}).view));
}

TEST(Reducers, QuantilesAreThoseOfNumpy) {
  std::vector<double> elements(101);
  std::iota(elements.rbegin(), elements.rend(), 0.0);
  EXPECT_THAT(quantiles(Tensor(elements)), ElementsAre(1, 5, 25, 50, 75, 95, 99));
  EXPECT_THAT(quantiles(Tensor({2, kNan, 1, kInfinity})),
              ElementsAre(1.01, 1.05, 1.25, 1.5, 1.75, DoubleNear(1.95, 1e-12), DoubleNear(1.99, 1e-12)));
  EXPECT_THAT(quantiles(Tensor({8})), Each(8));
  EXPECT_THAT(quantiles(Tensor({kNan, kInfinity})), IsEmpty());
}

TEST(Reducers, AHistogramHasEachFiniteElementOnce) {
  std::vector<double> elements(128);
  std::iota(elements.begin(), elements.end(), 0.0);
  elements.push_back(kNan);
  std::vector<double> found = histogram(Tensor(elements));
  ASSERT_EQ(found.size(), size_t(2 + kBins));
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 127);
  EXPECT_EQ(std::accumulate(found.begin() + 2, found.end(), 0.0), 128);
  EXPECT_THAT(std::vector<double>(found.begin() + 2, found.end()), Each(2));
  EXPECT_THAT(histogram(Tensor({kNan, -kInfinity})), IsEmpty());
}

// The ends of a range of one number are that number less and more 1; of a large one these are the number itself.
TEST(Reducers, AHistogramOfOneNumberHasItInTheMiddle) {
  for (const double number : {5.0, 0.0, -1e20, 1e300, 5e-324}) {
    const std::vector<double> found = histogram(Tensor({number, number, number}));
    ASSERT_EQ(found.size(), size_t(2 + kBins)) << number;
    EXPECT_EQ(found[2 + kBins / 2], 3) << number;
  }
  const double largest = std::numeric_limits<double>::max();
  const std::vector<double> wide = histogram(Tensor({-largest, largest}));
  EXPECT_EQ(wide[2], 1);
  EXPECT_EQ(wide[1 + kBins], 1);
  const std::vector<double> narrow = histogram(Tensor({0, 5e-324}));  // half of the width is 0
  EXPECT_EQ(std::accumulate(narrow.begin() + 2, narrow.end(), 0.0), 2);
}

}  // namespace
}  // namespace tensorscope::tensor_values
