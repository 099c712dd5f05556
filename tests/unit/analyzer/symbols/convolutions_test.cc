// SPDX-License-Identifier: Apache-2.0
#include "symbols/convolutions.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

// The innermost function first.
Convolution of(const std::vector<std::string>& functions) {
  std::vector<Frame> stack;
  for (const std::string& function : functions) {
    Frame& frame = stack.emplace_back();
    frame.language = Frame::Language::native;
    frame.function = function;
  }
  return convolution_in(stack);
}

TEST(Convolutions, OperationsAndTheirBackward) {
  EXPECT_EQ(of({"at::empty", "at::_ops::convolution::call(at::Tensor const&)"}), Convolution::operation);
  EXPECT_EQ(of({"at::empty", "torch::autograd::generated::ConvolutionBackward0::apply"}), Convolution::operation);
  EXPECT_EQ(of({"at::empty", "at::_ops::addmm::call"}), Convolution::none);
}

TEST(Convolutions, APlanAsksForWhatCudnnWorksIn) {
  EXPECT_EQ(of({"at::empty", "at::native::run_conv_plan", "at::native::cudnn_convolution"}), Convolution::plan);
  EXPECT_EQ(of({"at::native::cudnn_convolution", "at::native::run_conv_plan"}), Convolution::plan);
}

TEST(Convolutions, WithoutNamesNothingIsTold) {
  EXPECT_EQ(of({}), Convolution::not_told);
  EXPECT_EQ(of({"", "_PyEval_EvalFrameDefault"}), Convolution::not_told);
  std::vector<Frame> python(1);
  python[0].language = Frame::Language::python;
  python[0].function = "convolution at::";
  EXPECT_EQ(convolution_in(python), Convolution::not_told);
}

}  // namespace
}  // namespace tensorscope::analyzer
