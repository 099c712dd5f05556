// SPDX-License-Identifier: Apache-2.0
// Who asked for memory that is in no tensor: read from native stacks.
#pragma once

#include <string>

#include "memory/grouping.h"

namespace tensorscope::analyzer::oom {

// "at::native::softmax (libtorch_cuda.so)": the innermost native function but for allocators; "" where none is known.
// Memory that cuBLAS works in is "cuBLAS workspace (libtorch_cuda.so)", whichever operation came first.
std::string native_caller(const View& view, uint32_t site);
// The same with the place in the program: "at::cuda::getCurrentCUDABlasHandle (libtorch_cuda.so), train.py:31 step".
std::string caller_of_block(const View& view, uint32_t site);
// "NCCL (libnccl.so.2)", "libfoo.so"; "(no stack)".
std::string library_of_block(const View& view, uint32_t site);
// Whether cuDNN asked, for what a convolution is to work in. Torch then takes an algorithm that needs less (seen with
// torch 2.11 on an H100), so the program may have gone on.
bool asked_by_cudnn(const View& view, uint32_t site);

}  // namespace tensorscope::analyzer::oom
