// SPDX-License-Identifier: Apache-2.0
#include "values/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "dump/byte_source.h"
#include "support/values_builder.h"

namespace tensorscope::values {
namespace {

using testing::CallSpec;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::ValuesBuilder;
using testing::ValueSpec;

const std::vector<std::string> kModules = {"model.layers.0", "model.layers.1", "model.layers.2", "model"};

// A program whose modules give 1, 2, 3, 4 in each step, but where `factor` says otherwise.
struct Program {
  std::string root = "model";
  uint32_t steps = 4;
  std::vector<std::string> modules = kModules;
  std::function<double(uint32_t step, const std::string& module)> factor = [](auto...) { return 1; };
  std::function<void(ValueSpec&)> change = [](ValueSpec&) {};
  bool backwards = false;  // written in the opposite order

  std::string bytes() const {
    std::vector<ValueSpec> values;
    uint64_t time = 1'000'000'000'000'000;  // after the file was begun
    for (uint32_t step = 0; step < steps; ++step) {
      double number = 0;
      for (const std::string& module : modules) {
        ValueSpec value;
        value.name = root + module.substr(5);
        value.module = value.name;
        value.step = value.pass = step;
        ++number;
        value.numbers = {number * factor(step, module), -number};
        value.time_ns = ++time;
        change(value);
        values.push_back(value);
      }
    }
    if (backwards) std::reverse(values.begin(), values.end());
    ValuesBuilder builder;
    for (const ValueSpec& value : values) builder.value(value);
    return builder.bytes();
  }
};

class Compared {
 public:
  Compared(const std::string& a, const std::string& b, const std::vector<Rename>& renames = {},
           const ChosenTolerance& chosen = {})
      : bytes_{a, b}, a_(open(0)), b_(open(1)), runs(compare_runs(a_, b_, renames, chosen)) {}
  Compared(const Program& a, const Program& b, const std::vector<Rename>& renames = {})
      : Compared(a.bytes(), b.bytes(), renames) {}

 private:
  ValuesFile open(size_t i) const {
    return ValuesFile(analyzer::wrap_memory(bytes_[i].data(), bytes_[i].size()), i == 0 ? "a.values" : "b.values");
  }
  std::vector<std::string> bytes_;
  ValuesFile a_, b_;

 public:
  RunComparison runs;
  std::string name(size_t pair) const { return runs.names[runs.pairs[pair].name]; }
};

std::vector<std::string> named(const std::vector<OneSided>& names) {
  std::vector<std::string> result;
  for (const OneSided& name : names) result.push_back(name.name);
  return result;
}

TEST(CompareRuns, EqualOnesSayOverHowMuch) {
  const Compared runs_of(Program{}, Program{});
  const RunComparison& runs = runs_of.runs;
  EXPECT_TRUE(runs.equal());
  EXPECT_EQ(runs.compared, 16);
  EXPECT_EQ(runs.names_compared, 4);
  EXPECT_EQ(runs.by_elements, 16);
  EXPECT_EQ(runs.steps.size(), 4);
}

// model.layers.1 is float64 in A and float32 in B: what follows it was computed from it, what comes before was not.
TEST(CompareRuns, WhatFollowsACoarserDtypeHasItsTolerance) {
  Program a, b;
  const auto dtypes = [](const std::string& rounded) {
    return [rounded](ValueSpec& value) {
      const auto as = [](auto first, auto second) {
        const decltype(first) numbers[] = {first, second};
        return std::string(reinterpret_cast<const char*>(numbers), sizeof numbers);
      };
      const bool narrow = value.name == rounded;
      value.elements =
          narrow ? as(float(value.numbers[0]), float(value.numbers[1])) : as(value.numbers[0], value.numbers[1]);
      value.numbers.clear();
      value.shape = {2};
      value.dtype = narrow ? 6 : 7;
    };
  };
  a.steps = b.steps = 1;
  a.change = dtypes("");
  b.change = dtypes("model.layers.1");
  for (const auto& [module, equal] : {std::pair{"model.layers.0", false}, {"model.layers.2", true}, {"model", true}}) {
    b.factor = [module = std::string(module)](uint32_t, const std::string& each) {
      return each == module ? 1 + 1e-6 : 1;
    };
    EXPECT_EQ(Compared(a, b).runs.equal(), equal) << module;
  }
  b.factor = [](uint32_t, const std::string& each) { return each == "model" ? 1.001 : 1; };
  const Compared compared(a, b);
  ASSERT_TRUE(compared.runs.first);
  EXPECT_EQ(compared.name(compared.runs.first->pair), "model");
  EXPECT_EQ(compared.runs.first->comparison.dtype, 6);
}

TEST(CompareRuns, TheFirstDifferenceInTheOrderOfTime) {
  Program b;
  b.factor = [](uint32_t step, const std::string& module) {
    return step == 2 && module != "model.layers.0" ? 1.01 : step == 3 ? 2 : 1;
  };
  for (const bool backwards : {false, true}) {
    Program a;
    a.backwards = backwards;
    const Compared compared(a, b);
    const RunComparison& runs = compared.runs;
    ASSERT_TRUE(runs.first);
    EXPECT_EQ(runs.first->a.name, "model.layers.1");
    EXPECT_EQ(runs.first->a.step, 2);
    EXPECT_NEAR(runs.first->comparison.relative, 0.01 / 1.01, 1e-6);
    EXPECT_EQ(runs.different, 3 + 4);
    ASSERT_THAT(runs.first->before, SizeIs(1));
    EXPECT_EQ(compared.name(runs.first->before[0]), "model.layers.0") << "of the same pass";
    ASSERT_THAT(runs.steps, SizeIs(4));
    EXPECT_EQ(runs.steps[1].different, 0);
    EXPECT_EQ(runs.steps[2].different, 3);
    EXPECT_EQ(runs.steps[3].different, 4);
    EXPECT_NEAR(runs.steps[3].relative, 0.5, 1e-6);
  }
}

TEST(CompareRuns, WhatOneSideHasAloneIsSkippedOver) {
  Program a, b;
  a.modules = {"model.layers.0", "model.extra", "model.layers.1", "model"};
  b.steps = 6;
  const Compared runs_of(a, b);
  const RunComparison& runs = runs_of.runs;
  EXPECT_EQ(runs.different, 4) << "the value of the model is its place in the list";
  EXPECT_THAT(named(runs.only_a.names), ElementsAre("model.extra"));
  EXPECT_EQ(runs.only_a.names[0].values, 4);
  EXPECT_THAT(named(runs.only_b.names), ElementsAre("model.layers.2"));
  ASSERT_THAT(runs.only_b.steps, SizeIs(1));
  EXPECT_EQ(runs.only_b.steps[0].first, 4);
  EXPECT_EQ(runs.only_b.steps[0].last, 5);
  EXPECT_EQ(runs.only_b.steps[0].values, 6);
}

TEST(CompareRuns, StepsAreAlignedByNumberNotByPosition) {
  Program every, second;
  second.change = [](ValueSpec& value) { value.step = value.pass = 2 * value.step; };
  second.steps = 3;  // 0, 2, 4
  every.steps = 6;
  every.factor = [](uint32_t step, const std::string&) { return step % 2 == 1 ? 9 : 1; };
  const Compared runs_of(every, second);
  const RunComparison& runs = runs_of.runs;
  EXPECT_TRUE(runs.equal());
  EXPECT_EQ(runs.compared, 12);
  EXPECT_THAT(runs.only_a.steps, SizeIs(3)) << "1, 3 and 5: each between steps that both have";
}

TEST(CompareRuns, PassesAreCountedWithinTheirStep) {
  Program a, b;
  b.change = [](ValueSpec& value) { value.pass += 10; };  // passes before the first step
  const Compared runs_of(a, b);
  const RunComparison& runs = runs_of.runs;
  EXPECT_TRUE(runs.equal());
  EXPECT_EQ(runs.compared, 16);
}

TEST(CompareRuns, TrainAndEvalAndPlacesAreApart) {
  Program a, b;
  b.change = [](ValueSpec& value) { value.mode = format::StepMode::eval; };
  EXPECT_TRUE(Compared(a, b).runs.nothing());
  b.change = [](ValueSpec& value) { value.place = format::ValuePlace::input; };
  EXPECT_TRUE(Compared(a, b).runs.nothing());
}

TEST(CompareRuns, AnotherRootCanBeMapped) {
  Program a, b;
  b.root = "net";
  const Compared apart_of(a, b);
  const RunComparison& apart = apart_of.runs;
  EXPECT_TRUE(apart.nothing());
  ASSERT_TRUE(apart.hint);
  EXPECT_EQ(apart.hint->from, "net");
  EXPECT_EQ(apart.hint->to, "model");
  for (const Rename& rename : {Rename{"net", "model"}, Rename{"model", "net"}}) {
    const Compared runs_of(a, b, {rename});
    const RunComparison& runs = runs_of.runs;
    EXPECT_TRUE(runs.equal());
    EXPECT_EQ(runs.compared, 16);
    EXPECT_FALSE(runs.hint);
  }
  EXPECT_TRUE(Compared(a, b, {{"ne", "model"}}).runs.nothing()) << "a part of a name is not the name";
}

TEST(CompareRuns, DtypesThatDifferAreTold) {
  Program a, b;
  b.change = [](ValueSpec& value) {
    value.dtype = 15;
    value.keep_elements = false;
  };
  b.factor = [](auto...) { return 1.001; };
  const Compared runs_of(a, b);
  const RunComparison& runs = runs_of.runs;
  EXPECT_TRUE(runs.equal());
  ASSERT_THAT(runs.dtypes, SizeIs(1));
  EXPECT_EQ(runs.dtypes[0].a, 6);
  EXPECT_EQ(runs.dtypes[0].b, 15);
  EXPECT_EQ(runs.dtypes[0].names, 4);
}

TEST(CompareRuns, WhatCannotBeComparedIsCounted) {
  Program a, b;
  b.change = [](ValueSpec& value) {
    value.numbers.clear();
    value.shape = {2};
  };
  const Compared runs_of(a, b);
  const RunComparison& runs = runs_of.runs;
  EXPECT_EQ(runs.not_comparable, 16);
  EXPECT_TRUE(runs.nothing());
}

// A model of two layers, each call with its input and output.
std::string with_calls(double second_input, double second_output, bool raises = false,
                       const char* activation = "ReLU") {
  ValuesBuilder builder;
  builder.calls = true;
  for (const auto& [module, input, output] :
       {std::tuple{"model.a", 1.0, 2.0}, std::tuple{"model.b", second_input, second_output}}) {
    CallSpec call;
    call.module = module;
    call.class_name = std::string(module) == "model.a" ? "Linear" : activation;
    call.site = "train.py:57";
    call.raised = raises && call.module == "model.b";
    call.end_ns = 9'000'000'000'000;
    const uint64_t id = builder.call(call);
    for (const auto place : {format::ValuePlace::input, format::ValuePlace::output}) {
      ValueSpec value;
      value.name = std::string(module) + (place == format::ValuePlace::input ? "(in)" : "");
      value.module = module;
      value.call = id;
      value.place = place;
      value.numbers = {place == format::ValuePlace::input ? input : output, 1};
      builder.value(value);
    }
  }
  return builder.bytes();
}

TEST(CompareRuns, TheInputsOfTheModuleCallAreWhatFedIt) {
  const Compared compared(with_calls(2, 3), with_calls(2, 3.5));
  ASSERT_TRUE(compared.runs.first);
  EXPECT_EQ(compared.runs.first->a.name, "model.b");
  ASSERT_THAT(compared.runs.first->inputs, SizeIs(1));
  EXPECT_EQ(compared.name(compared.runs.first->inputs[0]), "model.b(in)");
  EXPECT_EQ(compared.runs.pairs[compared.runs.first->inputs[0]].verdict, Verdict::equal);
  ASSERT_TRUE(compared.runs.first->call);
  EXPECT_EQ(compared.runs.first->call->site, "train.py:57");
  EXPECT_THAT(compared.runs.first->before, IsEmpty());
}

TEST(CompareRuns, ACallThatRaisedInOneRunAlone) {
  for (const bool in_a : {true, false}) {
    const Compared compared(with_calls(2, 3, in_a), with_calls(2, 3, !in_a));
    const RunComparison& runs = compared.runs;
    EXPECT_FALSE(runs.equal());
    ASSERT_TRUE(runs.raised);
    EXPECT_EQ(runs.raised->in_a, in_a);
    EXPECT_EQ(runs.raised->call.module, "model.b");
    EXPECT_FALSE(runs.first);
  }
  EXPECT_TRUE(Compared(with_calls(2, 3, true), with_calls(2, 3, true)).runs.equal());
}

TEST(CompareRuns, ModulesOfAnotherClassAreTold) {
  const Compared compared(with_calls(2, 3), with_calls(2, 3, false, "GELU"));
  const RunComparison& runs = compared.runs;
  EXPECT_TRUE(runs.equal());
  ASSERT_THAT(runs.classes, SizeIs(1));
  EXPECT_EQ(runs.classes[0].module, "model.b");
  EXPECT_EQ(runs.classes[0].b, "GELU");
}

}  // namespace
}  // namespace tensorscope::values
