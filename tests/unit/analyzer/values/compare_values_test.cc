// SPDX-License-Identifier: Apache-2.0
#include "values/compare_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "dump/byte_source.h"
#include "support/values_builder.h"
#include "values/element_type.h"

namespace tensorscope::values {
namespace {

using ::testing::ElementsAre;
using testing::StatisticsSpec;
using testing::ValuesBuilder;
using testing::ValueSpec;

Elements floats(const std::vector<float>& numbers, std::vector<int64_t> shape = {}) {
  Elements result{.dtype = kFloat32, .shape = std::move(shape), .bytes = {}};
  if (result.shape.empty()) result.shape = {int64_t(numbers.size())};
  result.bytes.assign(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  return result;
}

Elements integers(const std::vector<int64_t>& numbers) {
  Elements result{.dtype = kInt64, .shape = {int64_t(numbers.size())}, .bytes = {}};
  result.bytes.assign(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t));
  return result;
}

Statistics statistics(const std::vector<double>& numbers) {
  const StatisticsSpec s = testing::statistics_of(numbers);
  return {s.count,
          s.nan,
          s.positive_infinity,
          s.negative_infinity,
          s.zeros,
          s.minimum,
          s.maximum,
          s.mean,
          s.deviation,
          s.sum,
          s.l1,
          s.l2,
          s.hash};
}

// Two values, each alone in its file.
class Two {
 public:
  Two(ValueSpec a, ValueSpec b) : a_(of(std::move(a))), b_(of(std::move(b))) {}
  Comparison compare(const ChosenTolerance& chosen = {}) const {
    return compare_values(a_, *a_.value(1), b_, *b_.value(1), chosen);
  }

 private:
  ValuesFile of(ValueSpec value) {
    if (value.name.empty()) value.name = "x";
    ValuesBuilder builder;
    builder.value(value);
    bytes_.push_back(std::make_unique<std::string>(builder.bytes()));
    return ValuesFile(analyzer::wrap_memory(bytes_.back()->data(), bytes_.back()->size()), "x.values");
  }
  std::vector<std::unique_ptr<std::string>> bytes_;
  ValuesFile a_, b_;
};

ValueSpec of(std::vector<double> numbers) {
  ValueSpec value;
  value.numbers = std::move(numbers);
  return value;
}

const Tolerance kTolerance{0, 1e-3};

TEST(CompareElements, TheLargestDifferenceAndWhereItIs) {
  const Comparison result =
      compare_elements(floats({1, 2, 3, 4, 5, 6}, {2, 3}), floats({1, 2, 3, 4, 5.5, 6.1f}, {2, 3}), kTolerance);
  EXPECT_EQ(result.verdict, Verdict::different);
  EXPECT_EQ(result.count, 6);
  EXPECT_EQ(result.beyond, 2);
  EXPECT_DOUBLE_EQ(result.absolute, 0.5);
  EXPECT_NEAR(result.relative, 0.5 / 5.5, 1e-9);
  EXPECT_NEAR(result.excess, result.relative / 1e-3, 1e-6);
  EXPECT_THAT(result.where, ElementsAre(1, 1));
  EXPECT_EQ(result.a, 5);
  EXPECT_EQ(result.b, 5.5);
}

TEST(CompareElements, RoundingOfASumIsAsLargeAsItsTerms) {
  const Comparison result = compare_elements(floats({1000, -1000, 0.001f}), floats({1000, -1000, 0.002f}), kTolerance);
  EXPECT_EQ(result.verdict, Verdict::equal) << "an element that is nearly zero by cancellation";
  EXPECT_GT(result.absolute, 0);
}

TEST(CompareElements, EqualNotANumbersAndInfinitiesAreEqual) {
  const float nan = NAN, infinity = INFINITY;
  EXPECT_EQ(compare_elements(floats({nan, infinity, 1}), floats({-nan, infinity, 1}), kTolerance).verdict,
            Verdict::equal);
  for (const float other : {1.0f, -infinity, nan}) {
    const Comparison result = compare_elements(floats({1, infinity}), floats({1, other}), kTolerance);
    EXPECT_EQ(result.verdict, Verdict::different) << other;
    EXPECT_TRUE(std::isinf(result.relative));
    EXPECT_THAT(result.where, ElementsAre(1));
  }
}

TEST(CompareElements, IntegersAreEqualOrNot) {
  const int64_t large = int64_t(1) << 60;
  EXPECT_EQ(compare_elements(integers({large}), integers({large}), {}).verdict, Verdict::equal);
  const Comparison result = compare_elements(integers({1, large}), integers({1, large + 1}), {});
  EXPECT_EQ(result.verdict, Verdict::different) << "a double has not enough digits";
  EXPECT_EQ(result.beyond, 1);
  EXPECT_EQ(result.absolute, 1);
}

TEST(CompareElements, OfTwoDtypes) {
  Elements narrow{.dtype = kBfloat16, .shape = {2}, .bytes = std::string("\x80\x3f\x00\x40", 4)};  // 1, 2
  EXPECT_EQ(compare_elements(narrow, floats({1.003f, 2}), default_tolerance(kBfloat16)).verdict, Verdict::equal);
  EXPECT_EQ(compare_elements(narrow, floats({1.2f, 2}), default_tolerance(kBfloat16)).verdict, Verdict::different);
}

TEST(CompareElements, ComplexOnesByTheirDistance) {
  Elements a{.dtype = kComplex64, .shape = {1}, .bytes = floats({3, 4}).bytes};
  Elements b{.dtype = kComplex64, .shape = {1}, .bytes = floats({3, 4.5f}).bytes};
  const Comparison result = compare_elements(a, b, kTolerance);
  EXPECT_EQ(result.verdict, Verdict::different);
  EXPECT_DOUBLE_EQ(result.absolute, 0.5);
}

TEST(CompareStatistics, ElementsWithinTheToleranceHaveStatisticsWithinIt) {
  const std::vector<double> a = {1, -2, 3, -4, 0.5};
  for (const double by : {1e-3, -1e-3}) {
    std::vector<double> b = a;
    for (double& x : b) x += by * std::abs(x);
    EXPECT_EQ(compare_statistics(statistics(a), statistics(b), {0, 1.0001e-3}).verdict, Verdict::equal) << by;
  }
}

TEST(CompareStatistics, EachOfThemCounts) {
  const std::vector<double> a = {1, -2, 3, -4, 0.5};
  const auto compare = [&a](const std::function<void(Statistics&)>& change) {
    Statistics other = statistics(a);
    change(other);
    return compare_statistics(statistics(a), other, kTolerance);
  };
  EXPECT_EQ(compare([](Statistics&) {}).verdict, Verdict::equal);
  EXPECT_EQ(compare([](Statistics& s) { s.mean += 0.1; }).statistic, Statistic::mean);
  EXPECT_EQ(compare([](Statistics& s) { s.deviation *= 1.1; }).statistic, Statistic::deviation);
  EXPECT_EQ(compare([](Statistics& s) { s.minimum -= 1; }).statistic, Statistic::minimum);
  EXPECT_EQ(compare([](Statistics& s) { s.maximum += 1; }).statistic, Statistic::maximum);
  EXPECT_EQ(compare([](Statistics& s) { s.l2 *= 1.1; }).statistic, Statistic::l2);
  EXPECT_EQ(compare([](Statistics& s) { s.nan = 1; }).statistic, Statistic::nan);
  EXPECT_EQ(compare([](Statistics& s) { s.positive_infinity = 1; }).statistic, Statistic::positive_infinity);
  const Comparison infinite = compare([](Statistics& s) { s.negative_infinity = 2; });
  EXPECT_EQ(infinite.verdict, Verdict::different);
  EXPECT_TRUE(std::isinf(infinite.excess));
  EXPECT_EQ(infinite.b, 2);
}

TEST(CompareValues, ByElementsWhereBothHaveThem) {
  EXPECT_EQ(Two(of({1, 2}), of({1, 2})).compare().basis, Basis::elements);
  ValueSpec without = of({1, 2});
  without.keep_elements = false;
  const Comparison result = Two(of({1, 2}), without).compare();
  EXPECT_EQ(result.basis, Basis::statistics);
  EXPECT_EQ(result.verdict, Verdict::equal);
}

TEST(CompareValues, ByHashWhereTheDtypesAreEqual) {
  const auto hashed = [](uint64_t hash, double number, int8_t dtype = 6) {
    ValueSpec value = of({1, number});
    value.keep_elements = false;
    value.dtype = dtype;
    value.statistics = testing::statistics_of(value.numbers);
    value.statistics->hash = hash;
    return value;
  };
  EXPECT_EQ(Two(hashed(7, 2), hashed(7, 2)).compare().basis, Basis::hash);
  EXPECT_EQ(Two(hashed(7, 2), hashed(8, 2)).compare().verdict, Verdict::equal) << "not the same bits, within tolerance";
  EXPECT_EQ(Two(hashed(7, 2), hashed(8, 2)).compare().basis, Basis::statistics);
  const Comparison bits = Two(hashed(7, 2), hashed(8, 2)).compare({.absolute = 0, .relative = 0});
  EXPECT_EQ(bits.verdict, Verdict::different);
  EXPECT_EQ(bits.basis, Basis::hash);
  EXPECT_EQ(Two(hashed(7, 2), hashed(7, 2, 7)).compare().basis, Basis::statistics);
}

TEST(CompareValues, TheToleranceIsThatOfTheCoarserDtype) {
  ValueSpec a = of({1, 2}), b = of({1.01, 2});
  a.keep_elements = b.keep_elements = false;
  EXPECT_EQ(Two(a, b).compare().verdict, Verdict::different);
  b.dtype = kBfloat16;
  const Comparison result = Two(a, b).compare();
  EXPECT_EQ(result.verdict, Verdict::equal);
  EXPECT_EQ(result.dtype, kBfloat16);
  EXPECT_EQ(Two(a, b).compare({.absolute = {}, .relative = 1e-4}).verdict, Verdict::different);
}

TEST(CompareValues, EveryDtypeHasATolerance) {
  for (const int dtype : {kFloat64, kFloat32, kFloat16, kBfloat16, kFloat8E4M3, kComplex128}) {
    EXPECT_GT(default_tolerance(dtype).relative, 0) << dtype;
  }
  EXPECT_EQ(default_tolerance(kFloat64).relative, 1e-9);
  EXPECT_EQ(default_tolerance(kFloat32).relative, 1e-5);
  for (const int dtype : {kInt64, kBool, kUint8}) EXPECT_TRUE(default_tolerance(dtype).exact()) << dtype;
  EXPECT_EQ(coarser_dtype(kFloat32, kBfloat16), kBfloat16);
  EXPECT_EQ(coarser_dtype(kFloat16, kFloat64), kFloat16);
  EXPECT_EQ(coarser_dtype(kInt64, kFloat32), kFloat32);
}

TEST(CompareValues, OtherShapesAndKindsDiffer) {
  EXPECT_EQ(Two(of({1, 2}), of({1, 2, 3})).compare().basis, Basis::shape);
  ValueSpec none;
  none.kind = format::ValueKind::none;
  none.dtype = -1;
  EXPECT_EQ(Two(of({1, 2}), none).compare().basis, Basis::kind);
  EXPECT_EQ(Two(none, none).compare().verdict, Verdict::equal);
}

TEST(CompareValues, NumbersAndTextsOfPython) {
  const auto real = [](double number) {
    ValueSpec value;
    value.kind = format::ValueKind::real;
    value.dtype = -1;
    value.number = number;
    return value;
  };
  const auto integer = [](int64_t number) {
    ValueSpec value;
    value.kind = format::ValueKind::integer;
    value.dtype = -1;
    value.integer = number;
    return value;
  };
  const auto text = [](const std::string& words) {
    ValueSpec value;
    value.kind = format::ValueKind::text;
    value.dtype = -1;
    value.elements = words;
    return value;
  };
  EXPECT_EQ(Two(real(1), real(1.000001)).compare().verdict, Verdict::equal);
  EXPECT_EQ(Two(real(1), real(1.1)).compare().verdict, Verdict::different);
  EXPECT_EQ(Two(real(NAN), real(NAN)).compare().verdict, Verdict::equal);
  EXPECT_EQ(Two(real(1), real(NAN)).compare().verdict, Verdict::different);
  EXPECT_EQ(Two(real(2), integer(2)).compare().verdict, Verdict::equal);
  EXPECT_EQ(Two(integer(1000000), integer(1000001)).compare().verdict, Verdict::different);
  EXPECT_EQ(Two(text("a"), text("a")).compare().verdict, Verdict::equal);
  EXPECT_EQ(Two(text("a"), text("b")).compare().verdict, Verdict::different);
}

TEST(CompareValues, WithoutElementsAndStatisticsNothingIsKnown) {
  ValueSpec bare;
  bare.shape = {2};
  EXPECT_EQ(Two(bare, of({1, 2})).compare().verdict, Verdict::not_comparable);
}

}  // namespace
}  // namespace tensorscope::values
