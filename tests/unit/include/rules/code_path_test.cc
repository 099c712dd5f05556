// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/code_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CodePath read(const std::string& path, bool returns = false) {
  CodePath code;
  EXPECT_EQ(read_code_path(path, returns, code), "") << path;
  return code;
}

std::string problem(const std::string& path, bool returns = false) {
  CodePath code;
  return read_code_path(path, returns, code);
}

TEST(CodePath, VariablesOfFunctions) {
  const CodePath code = read("train.py:Outer.Inner.run:batch['x:y'][0].grad");
  EXPECT_THAT(code.file, ElementsAre("**", "train.py"));
  EXPECT_THAT(code.function, ElementsAre("Outer", "Inner", "run"));
  EXPECT_EQ(code.variable, "batch");
  EXPECT_THAT(code.within, ElementsAre("x:y", "0", "grad"));
  EXPECT_EQ(code.line, 0u);
  EXPECT_THAT(read("/a/b.py:make.<locals>.step:x").file, ElementsAre("a", "b.py"));
  EXPECT_THAT(read("/a/b.py:make.<locals>.step:x").function, ElementsAre("make", "step"));
  EXPECT_THAT(read("a.py:<module>:x").function, ElementsAre("<module>"));
}

TEST(CodePath, Lines) {
  const CodePath code = read("src/train.py:57:loss");
  EXPECT_THAT(code.file, ElementsAre("**", "src", "train.py"));
  EXPECT_EQ(code.line, 57u);
  EXPECT_TRUE(code.function.empty());
  EXPECT_EQ(code.variable, "loss");
}

TEST(CodePath, Returns) {
  EXPECT_EQ(read("train.py:step").variable, "");
  EXPECT_THAT(read("train.py:step", true).function, ElementsAre("step"));
  EXPECT_THAT(read("model.encoder.attend", true).module, ElementsAre("model", "encoder"));
  EXPECT_THAT(read("model.encoder.attend", true).function, ElementsAre("attend"));
}

TEST(CodePath, MethodsOfModules) {
  for (const char* path : {"model.layers.*.forward:weights[0]", "model.layers.*.forward.weights.0"}) {
    const CodePath code = read(path);
    EXPECT_TRUE(code.file.empty());
    EXPECT_THAT(code.module, ElementsAre("model", "layers", "*"));
    EXPECT_THAT(code.function, ElementsAre("forward"));
    EXPECT_EQ(code.variable, "weights");
    EXPECT_THAT(code.within, ElementsAre("0"));
  }
  EXPECT_THAT(read("forward.x").module, ElementsAre("*"));
  EXPECT_THAT(read("model.generate:tokens").function, ElementsAre("generate"));
  EXPECT_EQ(read("model.fc.forward").variable, "");
}

TEST(CodePath, OtherPathsAreNone) {
  EXPECT_FALSE(is_code_path("model.fc.weight"));
  EXPECT_FALSE(is_code_path("model['a:b']"));
  EXPECT_FALSE(is_code_path("model.forwards.x"));
  EXPECT_TRUE(is_code_path("model.fc.forward.x"));
  EXPECT_TRUE(is_code_path("*:step:x"));
}

TEST(CodePath, Problems) {
  EXPECT_THAT(problem("train.py:57"), HasSubstr("a line needs a variable"));
  EXPECT_THAT(problem("train.py:0:x"), HasSubstr("from 1"));
  EXPECT_THAT(problem("train.py::x"), HasSubstr("between colons"));
  EXPECT_THAT(problem("train.py:f:"), HasSubstr("between colons"));
  EXPECT_THAT(problem("train.py:f:x:y"), HasSubstr("too many colons"));
  EXPECT_THAT(problem("train.py", true), HasSubstr("a function is missing"));
  EXPECT_THAT(problem("train.py:my f:x"), HasSubstr("'my f' is no name of a function"));
  EXPECT_THAT(problem("train.py:f:x y"), HasSubstr("'x y' is no name of a variable"));
  EXPECT_THAT(problem("train.py:f:x.**.y"), HasSubstr("must be the last"));
  EXPECT_THAT(problem("train.py:f:x[0"), HasSubstr("'[' without"));
  EXPECT_THAT(problem("train.py:f:x]0"), HasSubstr("']' without"));
  EXPECT_THAT(problem("train:f:x"), HasSubstr("'train' is no file"));
  EXPECT_THAT(problem("train.py:f:x", true), HasSubstr("no variable"));
  EXPECT_THAT(problem("train.py:999999999:x"), HasSubstr("that many lines"));
}

}  // namespace
}  // namespace tensorscope::rules
