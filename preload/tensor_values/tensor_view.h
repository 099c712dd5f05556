// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor in the processor's memory, read where they lie: no operation of torch runs, so nothing of
// the program changes, neither random state nor version counters, graph, modes or memory.
//
// Context: any thread that keeps the tensor alive meanwhile: one that has it as a Python object and holds the GIL, or
// an operation of torch whose argument or result it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensorscope/rules/dtypes.h"

namespace tensorscope::tensor_values {

struct TensorView {
  const void* data = nullptr;        // of the first element; null only where there are no elements
  const int64_t* sizes = nullptr;    // in the tensor
  const int64_t* strides = nullptr;  // in elements
  int64_t numel = 0;
  int ndim = 0;
  int dtype = 0;  // c10::ScalarType
  int itemsize = 0;
  bool contiguous = false;
  int8_t device_type = -1, device_index = -1;  // c10::DeviceType
  const void* storage = nullptr;               // the StorageImpl
  const void* storage_data = nullptr;          // where its bytes begin
  uint64_t storage_bytes = 0;
};

enum class Readable : uint8_t {
  yes,
  device,      // in the memory of a device: `data` is an address there
  wrapped,     // a subclass, vmap, a functional or fake tensor: its values are known to somebody else
  other_form,  // sparse, nested, quantized, conjugated but not resolved
  unknown,     // this torch's layout of tensors is not known (yet)
};
const char* readable_text(Readable readable);  // for messages; a literal

// Where torch keeps what. Learnt from the first tensors that are given, then constant.
Readable view_tensor(const void* impl, TensorView& out);

// The version counter's value; 0: not known.
uint32_t version_of(const void* impl);

// The TensorImpl of its gradient; null: none, or not known.
const void* gradient_of(const void* impl);

}  // namespace tensorscope::tensor_values
