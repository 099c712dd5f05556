// SPDX-License-Identifier: Apache-2.0
// `values`, word for word, on built values files.
// Covers: analyzer/cli/values.cc analyzer/text/values/report.cc analyzer/export/json/values.cc
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "golden_fixture.h"
#include "support/values_builder.h"

namespace tensorscope::testing {
namespace {

using ::testing::HasSubstr;

ValueSpec taken(const std::string& name, uint32_t step, std::vector<double> numbers, std::vector<int64_t> shape = {}) {
  ValueSpec spec;
  spec.name = name;
  spec.numbers = std::move(numbers);
  spec.shape = std::move(shape);
  spec.step = spec.pass = step;
  spec.site = "train.py:57";
  return spec;
}

// Ten steps of a small network: an output, a ragged one, a loss, a learning rate, and an evaluation.
ValuesBuilder training(int rank = -1) {
  ValuesBuilder builder;
  builder.process.rank = rank;
  builder.process.world_size = rank < 0 ? -1 : 2;
  builder.process.pid = 4242 + uint32_t(std::max(rank, 0));
  builder.watch({"model.fc"});
  builder.watch({"model.attn"});
  builder.watch({"model.dense", false, "", "watch.toml:7"});
  for (uint32_t step = 1; step <= 10; ++step) {
    ValueSpec output = taken("model.fc", step, {0.5 * step, -1, 0, 2}, {2, 2});
    output.module = "model.fc";
    output.operation = "aten::linear";
    builder.value(output);
    ValueSpec ragged = taken("model.attn", step, std::vector<double>(step, 1 / double(step)));
    ragged.module = "model.attn";
    if (step == 10) ragged.numbers.back() = NAN;
    builder.value(ragged);
    builder.value(taken("loss", step, {2.0 / step + rank}));
    ValueSpec rate = taken("optimizer.lr", step, {});
    rate.kind = format::ValueKind::real;
    rate.dtype = -1;
    rate.number = 0.1 / step;
    builder.value(rate);
    if (step % 4 == 0) builder.flush();
  }
  ValueSpec evaluated = taken("loss", 10, {0.25});
  evaluated.mode = format::StepMode::eval;
  evaluated.pass = 1;
  builder.value(evaluated);
  return builder;
}

class ValuesTest : public GoldenFixture {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ValuesBuilder whole = training();
    NonFiniteSpec finding;
    finding.step = 10;
    finding.operation = "aten::softmax";
    finding.module = "model.attn";
    finding.stack = {"model.py:31 Attention.forward", "train.py:57 step"};
    finding.sizes = {10};
    finding.statistics = statistics_of({0.1, 0.2, NAN});
    finding.inputs = {{"input 0: float32 [10]", statistics_of({-3, 80})}};
    finding.headline = "first NaN: aten::softmax in model.attn, step 10 (train), forward";
    whole.finding(finding);
    whole.losses({{"values dropped", 7, "more than 64 MiB waited to be written"}});
    whole.unmatched(2, {"model.fc"});
    whole.write("train.4242.values");
    training(0).write("rank0.values");
    training(1).write("rank1.values", false);
  }
  std::string error_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "values");
    const Result result = run(std::move(arguments));
    EXPECT_EQ(result.status, 2);
    return result.err;
  }
};

TEST_F(ValuesTest, Listing) { expect("values", {"values", "train.4242.values"}); }
TEST_F(ValuesTest, Narrow) { expect("values-narrow", {"values", "train.4242.values"}, 72); }
TEST_F(ValuesTest, Ranks) { expect("values-ranks", {"values", "rank1.values", "rank0.values", "--name", "loss"}); }
TEST_F(ValuesTest, Statistics) {
  expect("values-stat",
         {"values", "train.4242.values", "--stat", "mean,absmax,nan", "--name", "model.*", "--step", "8-"});
}
TEST_F(ValuesTest, StatisticsOfEvaluation) {
  expect("values-stat-eval", {"values", "rank0.values", "rank1.values", "--stat", "mean", "--mode", "eval"});
}
TEST_F(ValuesTest, Show) {
  expect("values-show", {"values", "train.4242.values", "--show", "model.fc", "--step", "3"});
}
TEST_F(ValuesTest, ShowTheLast) { expect("values-show-last", {"values", "train.4242.values", "--show", "model.attn"}); }
TEST_F(ValuesTest, ShowANumber) {
  expect("values-show-number", {"values", "train.4242.values", "--show", "optimizer.lr"});
}

TEST_F(ValuesTest, Json) { expect("values-json", {"values", "train.4242.values", "--json", "--top", "2"}); }
TEST_F(ValuesTest, JsonOfStatistics) {
  expect("values-stat-json", {"values", "train.4242.values", "--json", "--stat", "mean", "--step", "10"});
}
TEST_F(ValuesTest, JsonOfAValue) {
  expect("values-show-json", {"values", "train.4242.values", "--json", "--show", "model.attn"});
}

TEST_F(ValuesTest, Top) {
  EXPECT_THAT(run({"values", "train.4242.values", "--top", "2"}).out, HasSubstr("showing 2 of 5 names; --top N"));
  EXPECT_THAT(run({"values", "train.4242.values", "--top", "3", "--stat", "mean"}).out,
              HasSubstr("showing 3 of 41 values; --top N"));
}

TEST_F(ValuesTest, NamesThatAreNotThere) {
  EXPECT_EQ(error_of({"train.4242.values", "--name", "model.fd"}),
            "tensorscope: no value is named 'model.fd'; did you mean model.fc or model.attn?\n");
  EXPECT_EQ(error_of({"train.4242.values", "--show", "zzzzzz"}),
            "tensorscope: no value is named 'zzzzzz'; there are model.fc, model.attn, loss, optimizer.lr.\n");
  EXPECT_EQ(error_of({"train.4242.values", "--name", "model.*", "--name", "*.lx"}),
            "tensorscope: no value is named '*.lx'; there are model.fc, model.attn, loss, optimizer.lr.\n");
}

TEST_F(ValuesTest, QuestionsThatNothingFits) {
  const std::string nothing = "tensorscope: no value fits --step, --mode and --index.\n";
  EXPECT_EQ(error_of({"train.4242.values", "--step", "11-20"}), nothing);
  EXPECT_EQ(error_of({"train.4242.values", "--stat", "mean", "--step", "11-20"}), nothing);
  EXPECT_EQ(error_of({"train.4242.values", "--show", "loss", "--index", "1"}), nothing);
}

TEST_F(ValuesTest, WrongWords) {
  EXPECT_THAT(error_of({"train.4242.values", "--step", "9-7"}), HasSubstr("invalid value '9-7' for --step"));
  EXPECT_THAT(error_of({"train.4242.values", "--stat", "meen"}), HasSubstr("did you mean mean"));
  EXPECT_THAT(error_of({"train.4242.values", "--mode", "test"}), HasSubstr("choose from train, eval"));
  EXPECT_THAT(error_of({"nowhere.values"}), HasSubstr("nowhere.values cannot be opened"));
}

TEST_F(ValuesTest, ADamagedFileIsShownUpToTheDamage) {
  std::string bytes = training().bytes();
  bytes[bytes.size() * 2 / 3] ^= 1;
  std::ofstream("damaged.values", std::ios::binary) << bytes;
  const Result result = run({"values", "damaged.values"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("model.fc"));
  EXPECT_THAT(result.err, HasSubstr("damaged.values is damaged at byte"));
}

}  // namespace
}  // namespace tensorscope::testing
