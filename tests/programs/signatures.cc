// Compiles only if every function that the preload interposes or calls has the signature it is forwarded with, in the
// headers of the LibTorch at hand. A mangled name does not hold the return type: this is where a change of it is found.
#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <memory>
#include <optional>
#include <type_traits>

namespace {

template <typename Expected, typename Actual>
constexpr bool same(Actual) {
  return std::is_same_v<Expected, Actual>;
}

static_assert(same<void* (*)(size_t)>(&c10::alloc_cpu));
static_assert(same<void (*)(void*)>(&c10::free_cpu));
static_assert(same<void (*)(void*, int64_t, size_t, size_t, c10::Device)>(&c10::reportMemoryUsageToProfiler));
static_assert(same<void (*)(const at::Tensor&, torch::autograd::Edge)>(&torch::autograd::impl::set_gradient_edge));

// get_current_node returns its smart pointer through a hidden first argument, in both forms it has had.
using CurrentNode = decltype(torch::autograd::get_current_node());
static_assert(!std::is_trivially_copyable_v<CurrentNode>);
static_assert(sizeof(CurrentNode) == sizeof(void*) ||
              std::is_same_v<CurrentNode, std::shared_ptr<torch::autograd::Node>>);

// The constructors that are hooked, with their arguments in one register each.
static_assert(std::is_constructible_v<c10::TensorImpl, c10::Storage&&, c10::DispatchKeySet, caffe2::TypeMeta>);
static_assert(std::is_constructible_v<c10::TensorImpl, c10::TensorImpl::ImplType, c10::Storage&&, c10::DispatchKeySet,
                                      caffe2::TypeMeta>);
static_assert(
    std::is_constructible_v<c10::TensorImpl, c10::DispatchKeySet, caffe2::TypeMeta, std::optional<c10::Device>>);
static_assert(sizeof(c10::DispatchKeySet) == 8 && sizeof(caffe2::TypeMeta) == 2 && sizeof(c10::Device) == 2);
static_assert(sizeof(std::optional<c10::Device>) <= 8 && sizeof(c10::TensorImpl::ImplType) <= 8);
static_assert(std::is_trivially_copyable_v<caffe2::TypeMeta> &&
              std::is_trivially_copyable_v<std::optional<c10::Device>>);

// A tensor handle of the C shim is a pointer to a word that holds the TensorImpl's address.
static_assert(sizeof(at::Tensor) == sizeof(c10::TensorImpl*));
static_assert(same<AOTITorchError (*)(AtenTensorHandle, int64_t**)>(&aoti_torch_get_sizes));
static_assert(same<AOTITorchError (*)(AtenTensorHandle, int64_t**)>(&aoti_torch_get_strides));
static_assert(same<AOTITorchError (*)(AtenTensorHandle, int64_t*)>(&aoti_torch_get_storage_size));
static_assert(same<AOTITorchError (*)(AtenTensorHandle, int32_t*)>(&aoti_torch_get_dtype));

}  // namespace

int main() { return 0; }
