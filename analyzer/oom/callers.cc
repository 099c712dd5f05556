// SPDX-License-Identifier: Apache-2.0
#include "oom/callers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "symbols/convolutions.h"
#include "symbols/places.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr const char* kNoStack = "(no stack)";

bool is_runtime(std::string_view object) {
  for (std::string_view begin : {"libcudart", "libcuda.so", "libtensorscope", "libamdhip"}) {
    if (object.starts_with(begin)) return true;
  }
  return false;
}

const Frame* first_native(const std::vector<Frame>& stack, bool (*skip)(const Frame&)) {
  for (const Frame& frame : stack) {
    if (frame.language == Frame::Language::native && !skip(frame)) return &frame;
  }
  return nullptr;
}

const char* known_name(std::string_view object) {
  struct Known {
    std::string_view begin;
    const char* name;
  };
  constexpr Known kKnown[] = {{"libnccl", "NCCL"},       {"libcublas", "cuBLAS"},     {"libcudnn", "cuDNN"},
                              {"libcufft", "cuFFT"},     {"libcusparse", "cuSPARSE"}, {"libcusolver", "cuSOLVER"},
                              {"libnvshmem", "NVSHMEM"}, {"libcufile", "cuFile"},     {"libnvrtc", "NVRTC"},
                              {"libtriton", "Triton"},   {"libnvinfer", "TensorRT"},  {"libtorch", "torch"}};
  for (const Known& known : kKnown) {
    if (object.starts_with(known.begin)) return known.name;
  }
  return nullptr;
}

// torch takes these from its own allocator, in whichever operation comes first.
bool is_blas_workspace(const Frame& frame) {
  return frame.function.find("WorkspaceForHandle") != std::string::npos ||
         frame.function.find("CUDABlas") != std::string::npos ||
         frame.function.find("getNewWorkspace") != std::string::npos;
}

}  // namespace

bool asked_by_cudnn(const View& view, uint32_t site) {
  if (site == 0) return false;
  const Convolution convolution = convolution_in(view.places.stack(site));
  const bool on_device = view.dump.failure && !view.dump.failure->device.is_cpu();
  if (on_device && convolution == Convolution::not_told) view.places.unread().operation(site);
  return convolution == Convolution::plan;
}

std::string native_caller(const View& view, uint32_t site) {
  const std::vector<Frame>& stack = view.places.stack(site);
  if (const auto blas = std::find_if(stack.begin(), stack.end(), is_blas_workspace); blas != stack.end()) {
    return fmt::format("cuBLAS workspace ({})", blas->object);
  }
  const Frame* native = first_native(stack, [](const Frame& frame) {
    return is_runtime(frame.object) || frame.object.starts_with("libc10") || is_allocator(frame.function);
  });
  if (native == nullptr) return "";
  const std::string function = brief_function(native->function);
  return function.empty() ? native->object : fmt::format("{} ({})", function, native->object);
}

std::string caller_of_block(const View& view, uint32_t site) {
  const std::string where = site == 0 ? "" : view.places.at(site).where, native = native_caller(view, site);
  if (native.empty()) return where.empty() ? kNoStack : where;
  return view.dump.sites[site].python != 0 && !where.empty() ? native + ", " + where : native;
}

std::string library_of_block(const View& view, uint32_t site) {
  const Frame* native = first_native(
      view.places.stack(site), [](const Frame& frame) { return is_runtime(frame.object) || frame.object.empty(); });
  if (native == nullptr) return site == 0 ? kNoStack : view.places.at(site).where;
  const char* name = known_name(native->object);
  return name != nullptr ? fmt::format("{} ({})", name, native->object) : native->object;
}

}  // namespace tensorscope::analyzer::oom
