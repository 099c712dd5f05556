// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/torch_functions.h"

#include "support/loaded_object.h"

namespace tensorscope::torch {

namespace {

template <typename F>
void resolve(const LoadedObject& object, const char* name, F& function) {
  function = reinterpret_cast<F>(object.find(name));
}

}  // namespace

// A C++ program that refers to it has the object itself, by a copy relocation: the first definition in load order
// counts.
const void* undefined_tensor() {
  return find_object("libc10.so") ? find_in_any_object("_ZN3c1019UndefinedTensorImpl10_singletonE") : nullptr;
}

bool resolve_torch_functions(TorchFunctions& f) {
  const LoadedObject c10 = find_object("libc10.so");
  if (!c10) return false;
  resolve(c10, "_ZNK3c1010TensorImpl11has_storageEv", f.has_storage);
  resolve(c10, "_ZNK3c1010TensorImpl13requires_gradEv", f.requires_grad);
  resolve(c10, "_ZNK3c1010TensorImpl4gradEv", f.grad);
  f.undefined_tensor = undefined_tensor();
  resolve(c10, "_ZN3c108toStringENS_11DispatchKeyE", f.dispatch_key_name);
  resolve(c10, "_ZN3c108toStringENS_16BackendComponentE", f.backend_name);

  const LoadedObject torch = find_object("libtorch_cpu.so");
  f.autograd_loaded = bool(torch);
  if (!torch) return true;
  resolve(torch, "_ZN5torch8autograd4impl14grad_fn_unsafeERKN2at6TensorE", f.grad_fn);
  resolve(torch, "_ZNK2at10TensorBase7is_viewEv", f.is_view);
  resolve(torch, "_ZNK2at10TensorBase9output_nrEv", f.output_nr);
  // Other libraries export the shim's names over other types (ExecuTorch): only libtorch_cpu's own are right.
  resolve(torch, "aoti_torch_get_dim", f.dim);
  resolve(torch, "aoti_torch_get_numel", f.numel);
  resolve(torch, "aoti_torch_get_sizes", f.sizes);
  resolve(torch, "aoti_torch_get_strides", f.strides);
  resolve(torch, "aoti_torch_get_storage_offset", f.storage_offset);
  resolve(torch, "aoti_torch_get_storage_size", f.storage_size);
  resolve(torch, "aoti_torch_get_dtype", f.dtype);
  resolve(torch, "aoti_torch_get_device_type", f.device_type);
  resolve(torch, "aoti_torch_get_layout", f.layout);
  resolve(torch, "aoti_torch_abi_version", f.abi_version);
  return true;
}

const char* TorchFunctions::what_is_missing() const {
  if (!requires_grad) return "this torch has no TensorImpl::requires_grad: which tensors require it is not recorded";
  if (!grad || !undefined_tensor)
    return "this torch has no TensorImpl::grad: which tensors are gradients is not recorded";
  if (!dispatch_key_name || !backend_name)
    return "this torch does not name its dispatch keys: kinds of tensors are not told apart";
  if (!autograd_loaded) return nullptr;
  if (!grad_fn) return "this torch has no grad_fn_unsafe: which node made a tensor is not recorded";
  if (!is_view) return "this torch has no TensorBase::is_view: views are not marked";
  if (!output_nr) return "this torch has no TensorBase::output_nr: output numbers of nodes are not recorded";
  return nullptr;
}

}  // namespace tensorscope::torch
