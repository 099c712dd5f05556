// SPDX-License-Identifier: Apache-2.0
#include "symbols/user_code.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer {
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

TEST(UserCode, PyTorchsPackageIsWhereItsOwnLibrariesLie) {
  using code::torch_package_of;
  EXPECT_EQ(torch_package_of("/v/lib/python3.11/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so"),
            "/v/lib/python3.11/site-packages/torch");
  EXPECT_EQ(torch_package_of("/home/u/pytorch/torch/lib/libtorch_python.so"), "/home/u/pytorch/torch");
  EXPECT_EQ(torch_package_of("/usr/lib/python3/dist-packages/torch/_C.cpython-311-x86_64-linux-gnu.so"),
            "/usr/lib/python3/dist-packages/torch");  // Debian's libraries lie elsewhere
  for (const char* other :
       {"/usr/lib/x86_64-linux-gnu/libtorch_python.so.2.6", "/opt/libtorch/lib/libtorch_cpu.so",
        "/work/torch/lib/libtorch_cpu.so", "/v/site-packages/torchvision/_C.so", "/v/site-packages/mytorch/_C.so",
        "/work/torch/_C.d/other.so", "/work/torch/model.so", ""}) {
    EXPECT_EQ(torch_package_of(other), "") << other;
  }
}

TEST(UserCode, AFolderCalledTorchMayBeTheUsers) {
  const std::string_view built = "/home/u/pytorch/torch";
  for (const std::string_view package : {std::string_view(), built, std::string_view("/v/site-packages/torch")}) {
    for (const char* file : {"/home/u/torch/train.py", "/work/torch/model.py", "/home/u/torch/nn/model.py",
                             "torch/train.py", "/home/u/my-site-packages/torch/train.py", "/home/u/functorch/train.py",
                             "/home/u/pytorch/train.py", "/home/u/pytorch/torchbench/run.py"}) {
      EXPECT_EQ(python_owner(file, package), Owner::user) << file << " " << package;
      EXPECT_EQ(in_torch(file, package), "") << file << " " << package;
    }
    EXPECT_EQ(in_torch("/v/site-packages/torch/nn/functional.py", package), "nn/functional.py");
    EXPECT_EQ(in_torch("/opt/conda/lib/python3.12/site-packages/torch/optim/adam.py", package), "optim/adam.py");
    EXPECT_EQ(in_torch("/usr/lib/python3/dist-packages/torch/_tensor.py", package), "_tensor.py");
    EXPECT_EQ(in_torch("/v/site-packages/torchvision/ops.py", package), "");
    EXPECT_EQ(python_owner("/v/site-packages/functorch/dim.py", package), Owner::torch);
  }
  EXPECT_EQ(python_owner("/home/u/pytorch/torch/nn/modules/linear.py"), Owner::user);  // nothing shows otherwise
  EXPECT_EQ(python_owner("/home/u/pytorch/torch/nn/modules/linear.py", built), Owner::torch);
  EXPECT_EQ(python_owner("/home/u/pytorch/functorch/dim.py", built), Owner::torch);
  EXPECT_EQ(in_torch("/home/u/pytorch/torch/nn/modules/linear.py", built), "nn/modules/linear.py");
}

TEST(UserCode, PartsOfPyTorch) {
  EXPECT_EQ(torch_parts("optim/adam.py"), code::kOptimizer);
  EXPECT_EQ(torch_parts("nn/modules/linear.py"), code::kModuleCode);
  EXPECT_EQ(torch_parts("utils/data/dataloader.py"), code::kDataLoading);
  EXPECT_EQ(torch_parts("multiprocessing/reductions.py"), code::kOtherProcess);
  EXPECT_EQ(torch_parts("distributed/optim/zero.py"), 0);
  EXPECT_EQ(torch_parts("distributed/tensor/_dispatch.py"), 0);
  EXPECT_EQ(torch_parts("distributed/fsdp/_flat_param.py"), code::kCommunication);
  EXPECT_EQ(torch_parts("autograd/function.py"), code::kFunction);
  EXPECT_EQ(torch_parts("_tensor.py"), 0);
  EXPECT_EQ(torch_parts(""), 0);
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
  EXPECT_EQ(native_owner("trainer", "step", "/home/u/torch/include/trainer/step.h"), Owner::user);
  EXPECT_EQ(native_owner("trainer", "step", "/home/u/trainer/include/torch/step.h"), Owner::user);
  EXPECT_EQ(native_owner("trainer", "std::vector<int>::push_back", ""), Owner::system);
  EXPECT_EQ(native_owner("trainer", "vector_of", "/usr/include/x86_64-linux-gnu/bits/stdlib-float.h"), Owner::system);
  EXPECT_EQ(native_owner("trainer", "_mm_load_ps", "/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h"),
            Owner::system);
  EXPECT_EQ(native_owner("trainer", "Eigen::dot", "/usr/local/include/Eigen/Core"), Owner::library);
  EXPECT_EQ(native_owner("trainer", "ones", "/v/site-packages/torch/include/ATen/ops/ones.h"), Owner::torch);
  EXPECT_EQ(native_owner("trainer", "attention::forward", "/home/u/attention.cc"), Owner::user);
  EXPECT_EQ(native_owner("libmodel.so", "torch::nn::LinearImpl::forward", ""), Owner::torch);
}

TEST(UserCode, FunctionAroundAComprehension) {
  EXPECT_EQ(enclosing_function("load.<locals>.<listcomp>", true), "load");
  EXPECT_EQ(enclosing_function("Data.rows.<locals>.<dictcomp>", true), "Data.rows");
  EXPECT_EQ(enclosing_function("load.<locals>.<setcomp>.<genexpr>", true), "load");
  EXPECT_EQ(enclosing_function("<listcomp>.<listcomp>", true), "<module>");
  EXPECT_EQ(enclosing_function("<genexpr>", false), "");
  EXPECT_EQ(enclosing_function("Shelf.<listcomp>", true), "Shelf");
  EXPECT_EQ(enclosing_function("load.<locals>.<lambda>", true), "load.<locals>.<lambda>");
  EXPECT_EQ(enclosing_function("step", true), "step");
  EXPECT_EQ(enclosing_function("", true), "");
  EXPECT_TRUE(is_comprehension("<listcomp>"));
  EXPECT_FALSE(is_comprehension("load.<locals>.<genexpr>"));
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

TEST(UserCode, WhatOnlyLeadsToMemory) {
  EXPECT_TRUE(is_allocator("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc"));
  EXPECT_TRUE(is_allocator("at::detail::empty_cuda"));
  EXPECT_TRUE(is_allocator("at::detail::_empty_generic<long>"));  // a function of its own in torch 2.6
  EXPECT_TRUE(is_allocator("at::native::empty_cuda"));
  EXPECT_FALSE(is_allocator("at::native::structured_mm_out_cuda::impl"));
  EXPECT_FALSE(is_allocator("torch::autograd::generated::AddmmBackward0::apply"));
}

TEST(UserCode, OperationOfTheDispatchersSteps) {
  EXPECT_EQ(code::dispatched_operation("at::_ops::mm::redispatch"), "mm");
  EXPECT_EQ(code::dispatched_operation("at::_ops::_softmax_backward_data::call"), "_softmax_backward_data");
  EXPECT_EQ(code::dispatched_operation("at::_ops::add_Tensor::call"), "add");
  EXPECT_EQ(code::dispatched_operation("at::_ops::add__Tensor::call"), "add_");
  EXPECT_EQ(dispatched_overload("at::_ops::softmax_int::call"), "softmax_int");
  EXPECT_EQ(code::dispatched_operation("at::_ops::mm"), "");
  EXPECT_EQ(code::dispatched_operation("at::_ops::mm::name"), "");
  EXPECT_EQ(code::dispatched_operation("at::native::mm::call"), "");
  EXPECT_EQ(code::dispatched_operation(""), "");
}

}  // namespace
}  // namespace tensorscope::analyzer
