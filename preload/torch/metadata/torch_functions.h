// SPDX-License-Identifier: Apache-2.0
// The exported functions of c10 and libtorch_cpu that the metadata reader calls: none of them throws, prints, takes a
// lock, calls Python or changes a reference count on the tensors it is called for. Each may be null.
//
// Context: resolved by the collector without a table lock; called under one.
#pragma once

#include <cstdint>

namespace tensorscope::torch {

// at::Tensor is one word, the TensorImpl's address; the C shim's AtenTensorHandle is at::Tensor*
// (torch/csrc/inductor/aoti_torch/utils.h, 2.6 and 2.13). The shim is stable from 2.2 on.
using TensorHandle = const void* const*;

struct TorchFunctions {
  // c10::TensorImpl (c10/core/TensorImpl.h, same names 1.13 to 2.14)
  bool (*has_storage)(const void* impl) = nullptr;
  bool (*requires_grad)(const void* impl) = nullptr;
  const void* const* (*grad)(const void* impl) = nullptr;
  const void* undefined_tensor = nullptr;
  // names of dispatch keys; "" or an error text for numbers that are none
  const char* (*dispatch_key_name)(uint16_t key) = nullptr;
  const char* (*backend_name)(uint8_t backend) = nullptr;
  // torch::autograd::impl, at::TensorBase
  const void* (*grad_fn)(TensorHandle tensor) = nullptr;
  bool (*is_view)(TensorHandle tensor) = nullptr;
  int64_t (*output_nr)(TensorHandle tensor) = nullptr;
  // C shim
  int32_t (*dim)(TensorHandle, int64_t*) = nullptr;
  int32_t (*numel)(TensorHandle, int64_t*) = nullptr;
  int32_t (*sizes)(TensorHandle, const int64_t**) = nullptr;
  int32_t (*strides)(TensorHandle, const int64_t**) = nullptr;
  int32_t (*storage_offset)(TensorHandle, int64_t*) = nullptr;
  int32_t (*storage_size)(TensorHandle, int64_t*) = nullptr;
  int32_t (*dtype)(TensorHandle, int32_t*) = nullptr;
  int32_t (*device_type)(TensorHandle, int32_t*) = nullptr;
  int32_t (*layout)(TensorHandle, int32_t*) = nullptr;  // newer than 2.6
  uint64_t (*abi_version)() = nullptr;                  // newer than 2.6

  bool autograd_loaded = false;  // libtorch_cpu is there

  bool has_shim() const { return dim && numel && sizes && strides && storage_offset && storage_size && dtype; }
  // The first function that this torch lacks and what is unknown for it; null: none.
  const char* what_is_missing() const;
};

// The singleton that stands for "no tensor" (c10/core/UndefinedTensorImpl.h): a TensorImpl that is constructed when
// libc10 is loaded and that no user knows of. Null: no c10 in the process.
const void* undefined_tensor();

// Looks everything up again where it is not complete. False: no c10 in the process.
bool resolve_torch_functions(TorchFunctions& functions);

}  // namespace tensorscope::torch
