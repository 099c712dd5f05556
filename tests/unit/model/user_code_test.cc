#include "model/user_code.h"

#include <gtest/gtest.h>

namespace tensorscope::model {
namespace {

TEST(UserCode, PythonFiles) {
  EXPECT_EQ(python_owner("/home/u/train.py"), Owner::user);
  EXPECT_EQ(python_owner("train.py"), Owner::user);
  EXPECT_EQ(python_owner("<stdin>"), Owner::user);
  EXPECT_EQ(python_owner("<string>"), Owner::user);
  EXPECT_EQ(python_owner("/home/u/torch/model.py"), Owner::user);
  EXPECT_EQ(python_owner("/home/u/lib/pythonic/model.py"), Owner::user);
  EXPECT_EQ(python_owner("/v/lib/python3.11/site-packages/torch/nn/modules/linear.py"), Owner::torch);
  EXPECT_EQ(python_owner("/usr/lib/python3/dist-packages/torch/_tensor.py"), Owner::torch);
  EXPECT_EQ(python_owner("/tmp/torchinductor_u/ab/cab.py"), Owner::torch);
  EXPECT_EQ(python_owner("/v/lib/python3.11/site-packages/transformers/trainer.py"), Owner::library);
  EXPECT_EQ(python_owner("/usr/lib/python3.11/threading.py"), Owner::system);
  EXPECT_EQ(python_owner("<frozen importlib._bootstrap>"), Owner::system);
  EXPECT_EQ(python_owner("<eval_with_key>.3"), Owner::library);
  EXPECT_EQ(python_owner(""), Owner::system);
}

TEST(UserCode, NativeObjects) {
  EXPECT_EQ(native_owner("trainer"), Owner::user);
  EXPECT_EQ(native_owner("libmodel.so"), Owner::library);
  EXPECT_EQ(native_owner("libtorch_cpu.so"), Owner::torch);
  EXPECT_EQ(native_owner("libc10.so"), Owner::torch);
  EXPECT_EQ(native_owner("libc.so.6"), Owner::system);
  EXPECT_EQ(native_owner("libgomp-24e2ab19.so.1.0.0"), Owner::system);
  EXPECT_EQ(native_owner("python3.11"), Owner::system);
}

TEST(UserCode, HeadersOfOthersInTheProgram) {
  EXPECT_EQ(native_owner("trainer", "train_step", "/home/u/train.cc"), Owner::user);
  EXPECT_EQ(native_owner("trainer", "at::ones", "/opt/torch/include/ATen/ops/ones.h"), Owner::torch);
  EXPECT_EQ(native_owner("trainer", "ones", "/opt/torch/include/torch/csrc/autograd/generated/variable_factories.h"),
            Owner::torch);
  EXPECT_EQ(native_owner("trainer", "std::vector<int>::push_back", ""), Owner::system);
  EXPECT_EQ(native_owner("trainer", "attention::forward", "/home/u/attention.cc"), Owner::user);
  EXPECT_EQ(native_owner("libmodel.so", "torch::nn::LinearImpl::forward", ""), Owner::torch);
}

TEST(UserCode, Interpreter) {
  EXPECT_TRUE(is_interpreter("python3.11"));
  EXPECT_TRUE(is_interpreter("python"));
  EXPECT_TRUE(is_interpreter("libpython3.11.so.1.0"));
  EXPECT_FALSE(is_interpreter("libtorch_python.so"));
  EXPECT_FALSE(is_interpreter("python_binding.so"));
  EXPECT_TRUE(is_eval_frame("_PyEval_EvalFrameDefault"));
  EXPECT_FALSE(is_eval_frame("_PyEval_EvalFrame"));
}

}  // namespace
TEST(UserCode, WhatOnlyLeadsToMemory) {
  EXPECT_TRUE(is_allocator("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc"));
  EXPECT_TRUE(is_allocator("at::detail::empty_cuda"));
  EXPECT_TRUE(is_allocator("at::native::empty_cuda"));
  EXPECT_FALSE(is_allocator("at::native::structured_mm_out_cuda::impl"));
  EXPECT_FALSE(is_allocator("torch::autograd::generated::AddmmBackward0::apply"));
}

}  // namespace tensorscope::model
