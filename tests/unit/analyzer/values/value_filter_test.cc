// SPDX-License-Identifier: Apache-2.0
#include "values/value_filter.h"

#include <gtest/gtest.h>

namespace tensorscope::values {
namespace {

bool takes(const std::string& pattern, std::string_view name) {
  ValueFilter filter;
  filter.add_name(pattern);
  return filter.takes_name(name);
}

TEST(ValueFilter, NamesByTheGrammarOfWatches) {
  EXPECT_TRUE(takes("model.fc", "model.fc"));
  EXPECT_FALSE(takes("model", "model.fc"));
  EXPECT_TRUE(takes("model.*", "model.fc"));
  EXPECT_FALSE(takes("model.*", "model.fc.weight"));
  EXPECT_TRUE(takes("model.**", "model.fc.weight"));
  EXPECT_TRUE(takes("**.weight", "model.fc.weight"));
  EXPECT_TRUE(takes("model.layer*.fc", "model.layer12.fc"));
  EXPECT_TRUE(takes("model.lstm.1", "model.lstm[1]"));
}

TEST(ValueFilter, OneOfSeveralPatternsSuffices) {
  ValueFilter filter;
  EXPECT_TRUE(filter.takes_name("anything"));
  filter.add_name("a");
  filter.add_name("b");
  EXPECT_TRUE(filter.takes_name("b"));
  EXPECT_FALSE(filter.takes_name("c"));
}

TEST(ValueFilter, StepModeAndIndex) {
  ValueFilter filter;
  filter.steps = {3, 4};
  filter.mode = format::StepMode::eval;
  filter.index = 1;
  Value value;
  value.step = 3, value.mode = format::StepMode::eval, value.index = 1;
  EXPECT_TRUE(filter.takes(value));
  EXPECT_TRUE(NameCache(filter).takes(value));
  value.step = 5;
  EXPECT_FALSE(filter.takes(value));
  value.step = 4, value.mode = format::StepMode::train;
  EXPECT_FALSE(filter.takes(value));
  value.mode = format::StepMode::eval, value.index = 0;
  EXPECT_FALSE(filter.takes(value));
}

TEST(Steps, AsTheyAreWritten) {
  const auto text = [](std::string_view steps) {
    const auto parsed = parse_steps(steps);
    return parsed ? std::to_string(parsed->first) + " " + std::to_string(parsed->last) : "none";
  };
  EXPECT_EQ(text("7"), "7 7");
  EXPECT_EQ(text("7-9"), "7 9");
  EXPECT_EQ(text("7-"), "7 4294967295");
  EXPECT_EQ(text("-9"), "0 9");
  for (const char* wrong : {"", "-", "x", "7-x", "9-7", "7 ", "1-2-3", "99999999999"})
    EXPECT_EQ(text(wrong), "none") << wrong;
}

}  // namespace
}  // namespace tensorscope::values
