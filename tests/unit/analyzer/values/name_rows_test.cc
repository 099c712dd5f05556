// SPDX-License-Identifier: Apache-2.0
#include "values/name_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/values_builder.h"

namespace tensorscope::values {
namespace {

using ::testing::ElementsAre;
using testing::ValuesBuilder;
using testing::ValueSpec;

TEST(Curve, ShortOnesAreKeptAndLongOnesAveraged) {
  Curve curve;
  for (int i = 0; i < 3; ++i) curve.add(i);
  EXPECT_THAT(curve.points(), ElementsAre(0, 1, 2));
  Curve longer;
  for (int i = 0; i < 64; ++i) longer.add(i);
  ASSERT_EQ(longer.points().size(), 32u);
  EXPECT_EQ(longer.points()[1], 2.5);
  longer.add(64);
  EXPECT_EQ(longer.points().back(), 64);
  for (int i = 65; i < 100'000; ++i) longer.add(i);
  EXPECT_LT(longer.points().size(), Curve::kMax);
  EXPECT_LT(longer.points()[3], longer.points()[30]);
}

class NameRows : public ::testing::Test {
 protected:
  static std::string written(int rank, uint32_t pid, const std::vector<ValueSpec>& values) {
    const std::string path = ::testing::TempDir() + "/" + std::to_string(pid) + ".values";
    ValuesBuilder builder;
    builder.process.rank = rank;
    builder.process.pid = pid;
    for (const ValueSpec& value : values) builder.value(value);
    builder.write(path);
    return path;
  }
  static ValueSpec named(const std::string& name, std::vector<double> numbers, uint32_t step = 1) {
    ValueSpec spec;
    spec.name = name;
    spec.numbers = std::move(numbers);
    spec.step = step;
    return spec;
  }
};

TEST_F(NameRows, OneForEachNameAndMode) {
  ValueSpec evaluated = named("a", {8}, 2);
  evaluated.mode = format::StepMode::eval;
  const auto files =
      open_files({written(-1, 1, {named("a", {1, 3}), named("b", {5}), named("a", {2, 6, NAN}, 2), evaluated})});
  const std::vector<NameRow> rows = name_rows(files, {}, Stat::mean);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "a");
  EXPECT_EQ(rows[0].values, 2u);
  EXPECT_EQ(rows[0].first_step, 1u);
  EXPECT_EQ(rows[0].last_step, 2u);
  EXPECT_TRUE(rows[0].shape_varies);
  EXPECT_FALSE(rows[0].dtype_varies);
  EXPECT_EQ(rows[0].last->mean, 4);
  EXPECT_EQ(rows[0].elements, 5u);
  EXPECT_EQ(rows[0].not_finite, 1u);
  EXPECT_THAT(rows[0].curve.points(), ElementsAre(2, 4));
  EXPECT_EQ(rows[1].name, "b");
  EXPECT_EQ(rows[2].mode, format::StepMode::eval);
  EXPECT_THAT(names_of(files), ElementsAre("a", "b"));
}

TEST_F(NameRows, FilesAreOrderedByRankAndToldApart) {
  const auto files = open_files({written(1, 12, {named("a", {1})}), written(0, 11, {named("a", {1})})});
  EXPECT_EQ(files[0]->process().rank, 0);
  EXPECT_THAT(file_labels(files), ElementsAre("0", "1"));
  EXPECT_EQ(name_rows(files, {}, Stat::mean).size(), 2u);
  EXPECT_THAT(file_labels(open_files({written(-1, 13, {}), written(-1, 14, {})})), ElementsAre("pid 13", "pid 14"));
  EXPECT_THAT(file_labels(open_files({written(-1, 13, {})})), ElementsAre(""));
  EXPECT_THAT(file_labels(open_files({written(-1, 13, {}), written(-1, 13, {})})),
              ElementsAre("13.values", "13.values"));
}

}  // namespace
}  // namespace tensorscope::values
