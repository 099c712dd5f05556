// SPDX-License-Identifier: Apache-2.0
#include "symbols/stack_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

using ::testing::ElementsAre;

Frame native(const std::string& function, const std::string& object = "libtorch_cpu.so") {
  Frame frame;
  frame.function = function;
  frame.object = object;
  return frame;
}
Frame interpreter(const std::string& function) { return native(function, "libpython3.11.so.1.0"); }
Frame eval() { return interpreter("_PyEval_EvalFrameDefault"); }

PythonStackFrame python(const std::string& function, bool entry = false) {
  Frame frame;
  frame.language = Frame::Language::python;
  frame.function = function;
  return {frame, entry};
}

std::vector<std::string> merge(const std::vector<Frame>& natives, const std::vector<PythonStackFrame>& pythons,
                               bool full = false) {
  std::vector<std::string> out;
  for (const Frame& frame : merge_stacks(natives, pythons, full)) {
    out.push_back(frame.function.empty() ? frame.object : frame.function);
  }
  return out;
}

TEST(StackMerge, EachEvaluationIsARunOfPythonFrames) {
  EXPECT_THAT(merge({native("at::empty"), eval(), interpreter("cfunction_call"), native("torch::apply"),
                     interpreter("_PyEval_Vector"), eval(), interpreter("Py_RunMain"),
                     native("__libc_start_main", "libc.so.6"), native("_start", "python3.11")},
                    {python("softmax", true), python("forward"), python("train", true)}),
              ElementsAre("at::empty", "softmax", "torch::apply", "forward", "train"));
}

TEST(StackMerge, TheProfilersOwnFramesAreLeftOut) {
  std::vector<Frame> natives = {native("c10::TensorImpl::TensorImpl"), native("hook", "libtensorscope.so"), native("f"),
                                native("main_and_dump", "libtensorscope.so")};
  EXPECT_THAT(merge(natives, {}), ElementsAre("c10::TensorImpl::TensorImpl", "f"));
  EXPECT_EQ(merge(natives, {}, true).size(), 4u);
}

TEST(StackMerge, FullKeepsTheInterpreter) {
  EXPECT_THAT(
      merge({native("at::empty"), interpreter("cfunction_call"), eval(), interpreter("Py_RunMain"),
             native("_start", "python3")},
            {python("f"), python("main", true)}, true),
      ElementsAre("at::empty", "cfunction_call", "_PyEval_EvalFrameDefault", "f", "main", "Py_RunMain", "_start"));
}

TEST(StackMerge, NativeStackCutOffAtItsOuterEnd) {
  EXPECT_THAT(
      merge({native("at::empty"), eval(), native("apply")}, {python("a", true), python("b", true), python("c", true)}),
      ElementsAre("at::empty", "a", "b", "c", "apply"));
}

TEST(StackMerge, TooManyEvaluationsFallBackToOnePiece) {
  EXPECT_THAT(merge({native("at::empty"), eval(), native("apply"), eval(), native("outer"), eval()},
                    {python("a"), python("b", true)}),
              ElementsAre("at::empty", "a", "b"));
}

TEST(StackMerge, OutermostRunWithoutEntryMark) {
  EXPECT_THAT(merge({native("at::empty"), eval(), native("apply"), eval()}, {python("a", true), python("b")}),
              ElementsAre("at::empty", "a", "apply", "b"));
}

TEST(StackMerge, InterpreterWithoutSymbols) {
  EXPECT_THAT(merge({native("at::empty"), interpreter(""), interpreter(""), native("apply"), interpreter("")},
                    {python("a", true), python("b"), python("c", true)}),
              ElementsAre("at::empty", "a", "apply", "b", "c"));
}

TEST(StackMerge, InterpreterWhoseEvaluationsHaveNoNames) {
  EXPECT_THAT(merge({native("at::empty"), interpreter("PyObject_Vectorcall"), interpreter(""),
                     interpreter("Py_RunMain"), native("app::run", "app")},
                    {python("a", true), python("b", true)}),
              ElementsAre("at::empty", "a", "b", "app::run"));
  EXPECT_THAT(merge({native("at::empty"), interpreter(""), native("apply"), interpreter("Py_RunMain")},
                    {python("a", true), python("b", true), python("c", true)}),
              ElementsAre("at::empty", "a", "b", "c"));
}

TEST(StackMerge, StartOfTheProcessWithoutSymbols) {
  EXPECT_THAT(merge({native("at::empty"), eval(), native("", "libc.so.6"), native("", "libc.so.6"),
                     native("_start", "python3")},
                    {python("a", true)}),
              ElementsAre("at::empty", "a"));
  EXPECT_THAT(merge({native("", "libc.so.6"), native("main", "trainer"), native("", "libc.so.6")}, {}),
              ElementsAre("libc.so.6", "main"));
}

TEST(StackMerge, NoInterpreterInSight) {
  EXPECT_THAT(merge({native("at::empty"), native("apply")}, {python("a", true)}),
              ElementsAre("at::empty", "apply", "a"));
  EXPECT_THAT(merge({}, {python("a", true), python("b", true)}), ElementsAre("a", "b"));
}

TEST(StackMerge, NativeOnly) {
  EXPECT_THAT(merge({native("at::empty"), native("main", "trainer"), native("_start", "trainer")}, {}),
              ElementsAre("at::empty", "main"));
  EXPECT_THAT(merge({native("main", "trainer"), native("_start", "trainer")}, {}, true), ElementsAre("main", "_start"));
}

TEST(StackMerge, InterpreterInsideTheProgramKeepsTheProgram) {
  EXPECT_THAT(merge({native("at::empty"), native("_PyEval_EvalFrameDefault", "app"), native("PyObject_Call", "app"),
                     native("app::run", "app"), native("main", "app")},
                    {python("f", true)}),
              ElementsAre("at::empty", "f", "app::run", "main"));
}

}  // namespace
}  // namespace tensorscope::analyzer
