// SPDX-License-Identifier: Apache-2.0
// The compare verb: its texts word for word, its JSON, its exit status.
// Covers: analyzer/text/values/comparison.cc analyzer/export/json/comparison.cc analyzer/cli/compare.cc
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "golden_fixture.h"
#include "sample_values.h"

namespace tensorscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

const char* const kA = "a.values";
const char* const kB = "b.values";

bool from_layer(const ValueSpec& value, uint32_t step) {
  return value.step >= step &&
         (value.name.find("layers.2.mlp") != std::string::npos || value.name.find("layers.3") != std::string::npos ||
          value.name.ends_with("layers.2") || value.name.ends_with("head") || value.name == "model");
}

class CompareTest : public GoldenFixture {
 protected:
  void SetUp() override {
    GoldenFixture::SetUp();
    sample_run({}).write(kA);
    sample_run({.change = [](ValueSpec& value) {
      if (from_layer(value, 1)) value.numbers[1] *= 1 + 0.01 * std::pow(4, value.step);
    }}).write(kB);
  }
  static void expect_mistake(const Result& result, const std::string& words) {
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, AllOf(StartsWith("tensorscope: "), HasSubstr(words)));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
};

TEST_F(CompareTest, Equal) { expect("compare-equal", {"compare", kA, kA}); }
TEST_F(CompareTest, Different) { expect("compare", {"compare", kA, kB}); }
TEST_F(CompareTest, DifferentNarrow) { expect("compare-narrow", {"compare", kA, kB, "--top", "3"}, 70); }

TEST_F(CompareTest, OtherDtypeAndMissingOnBothSides) {
  sample_run({.steps = 5,
              .layers = 3,
              .raises = true,
              .threads = true,
              .elements = false,
              .change =
                  [](ValueSpec& value) {
                    value.dtype = 15;
                    for (double& x : value.numbers) x *= 1.001;
                    if (value.name == "model.head") value.shape = {3, 2};
                  }})
      .write("other.values");
  expect("compare-other", {"compare", kA, "other.values"});
}

TEST_F(CompareTest, ByStatistics) {
  sample_run({.elements = false,
              .change =
                  [](ValueSpec& value) {
                    if (value.step == 2 && value.name == "model.head") value.numbers[4] = NAN;
                  }})
      .write("nan.values");
  expect("compare-nan", {"compare", kA, "nan.values"});
}

TEST_F(CompareTest, ARenamedRoot) {
  sample_run({.root = "net"}).write("net.values");
  expect_mistake(run({"compare", kA, "net.values"}),
                 "no name is in both files (model.embed in A, net.embed in B); names agree with --rename net=model");
  const Result mapped = run({"compare", kA, "net.values", "--rename", "net=model"});
  EXPECT_EQ(mapped.status, 0) << mapped.out;
  EXPECT_THAT(mapped.out, AllOf(StartsWith("equal: 45 values of 15 names"), HasSubstr("net is compared as model")));
}

TEST_F(CompareTest, TolerancesThatWereAskedFor) {
  EXPECT_EQ(run({"compare", kA, kB}).status, 1);
  EXPECT_EQ(run({"compare", kA, kB, "--rtol", "0.5"}).status, 0);
  EXPECT_EQ(run({"compare", kA, kB, "--atol", "100"}).status, 0);
  EXPECT_EQ(run({"compare", kA, kA, "--rtol", "0", "--atol", "0"}).status, 0);
}

TEST_F(CompareTest, AsJson) {
  const Result result = run({"compare", kA, kB, "--json"});
  EXPECT_EQ(result.status, 1);
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(answer["schema"], 1);
  EXPECT_EQ(answer["equal"], false);
  EXPECT_EQ(answer["first"]["name"], "model.layers.2.mlp");
  EXPECT_EQ(answer["first"]["step"], 1);
  EXPECT_EQ(answer["first"]["call"]["class"], "MLP");
  EXPECT_EQ(answer["first"]["where"], Json({0, 1}));
  EXPECT_EQ(answer["first"]["before"][0]["name"], "model.layers.2.attn");
  EXPECT_EQ(answer["different"], answer["differences"].size());
  EXPECT_EQ(answer["steps"].size(), 3);
  const Json equal = Json::parse(run({"compare", kA, kA, "--json"}).out);
  EXPECT_EQ(equal["equal"], true);
  EXPECT_TRUE(equal["first"].is_null());
}

TEST_F(CompareTest, CallsAloneAreCompared) {
  sample_run({.values = false}).write("calls.values");
  sample_run({.values = false, .raises = true}).write("raised.values");
  EXPECT_THAT(run({"compare", "calls.values", "calls.values"}).out, StartsWith("equal: 45 calls"));
  const Result result = run({"compare", "calls.values", "raised.values"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, StartsWith("different: train step 2: model.head raised in B alone"));
}

TEST_F(CompareTest, BadInput) {
  expect_mistake(run({"compare", kA, "missing.values"}), "missing.values cannot be opened");
  expect_mistake(run({"compare", kA, kB, "--rename", "net"}), "write FROM=TO");
  expect_mistake(run({"compare", kA, kB, "--rtol", "-1"}), "--rtol");
  expect_mistake(run({"compare", kA}), "B");
  sample_run({.steps = 0}).write("empty.values");
  expect_mistake(run({"compare", kA, "empty.values"}), "empty.values has no values.");
}

}  // namespace
}  // namespace tensorscope::testing
