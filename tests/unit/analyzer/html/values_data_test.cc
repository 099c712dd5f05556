// SPDX-License-Identifier: Apache-2.0
#include "html/values_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "packed.h"
#include "support/values_builder.h"
#include "values/name_rows.h"

namespace tensorscope::html {
namespace {

using ::testing::ElementsAre;
using testing::ValuesBuilder;

class ValuesData : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensorscope-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  ValuesFiles files(ValuesBuilder& builder) {
    const std::string path = (folder_ / "x.values").string();
    builder.write(path);
    return values::open_files({path});
  }
  std::filesystem::path folder_;
};

TEST_F(ValuesData, HasStatisticsOverStepsAndTheLastHistogram) {
  ValuesBuilder builder;
  for (uint32_t step = 0; step < 3; ++step) {
    builder.value({.name = "loss",
                   .step = step,
                   .shape = {2},
                   .numbers = {double(step), double(step)},
                   .series = {{"histogram", {1, double(step)}}}});
  }
  const ValuesFiles read = files(builder);
  Payload payload;
  const Json head = {{"values", values_data(read, false, payload)}, {"calls", calls_data(read)}};
  const testing::Unpacked page = testing::unpacked(testing::packed(payload, head));
  const auto& values = page.head["values"];
  EXPECT_EQ(values["names"][0]["name"], "loss");
  EXPECT_EQ(values["names"][0]["values"], 3);
  const auto& line = values["series"][0]["lines"][0];
  EXPECT_EQ(line["stat"], "mean");
  EXPECT_THAT(page.column(line["x"]), ElementsAre(0, 1, 2));
  EXPECT_THAT(page.column(line["y"]), ElementsAre(0, 1, 2));
  ASSERT_EQ(values["histograms"].size(), 1u);
  EXPECT_THAT(page.column(values["histograms"][0]["numbers"]), ElementsAre(1, 2));
  EXPECT_TRUE(page.head["calls"].is_null());
}

TEST_F(ValuesData, LeavesOutTheHostWhereItIsConfidential) {
  ValuesBuilder builder;
  builder.value({.name = "loss", .shape = {1}, .numbers = {1}});
  const ValuesFiles read = files(builder);
  Payload payload;
  EXPECT_FALSE(values_data(read, false, payload)["files"][0]["host"].is_null());
  EXPECT_TRUE(values_data(read, true, payload)["files"][0]["host"].is_null());
}

TEST_F(ValuesData, HasCallsAsATree) {
  ValuesBuilder builder;
  builder.call({.id = 1, .begin_ns = 1'000, .end_ns = 9'000, .module = "model", .class_name = "Net"});
  builder.call({.id = 2, .parent = 1, .begin_ns = 2'000, .end_ns = 5'000, .module = "model.fc"});
  const ValuesFiles read = files(builder);
  const Json calls = calls_data(read);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["tree"][0]["path"], "model");
  EXPECT_EQ(calls[0]["head"].get<std::string>().find("\\x0a"), std::string::npos);
  EXPECT_EQ(calls[0]["tree"][0]["children"][0]["total_ns"], 3000);
}

TEST_F(ValuesData, IsNotThereWithoutFiles) {
  Payload payload;
  EXPECT_TRUE(values_data({}, false, payload).is_null());
  EXPECT_TRUE(calls_data({}).is_null());
}

}  // namespace
}  // namespace tensorscope::html
