// SPDX-License-Identifier: Apache-2.0
// Tensors that torch has given away as DLPack: `torch.utils.dlpack.to_dlpack(t)` is a capsule that keeps the tensor,
// and so is the owner of an array that `numpy.from_dlpack(t)` made. Neither refers to the tensor's Python object, which
// may be gone.
//
// Offsets of PyCapsule (Objects/capsule.c, the same in 3.8 to 3.14), of DLManagedTensor and DLManagedTensorVersioned
// (ATen/dlpack.h), and of what torch puts behind them (ATen/DLConvertor.cpp): a tensor, and then the DLPack struct
// itself.
//
// Context: heap inspector. What no API vouches for is read by checked reads.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// The TensorImpl that this capsule keeps; null: another kind of capsule, or one whose consumer has taken the tensor
// over. `capsule` is of Kind::capsule.
const void* exported_tensor(const Object* capsule);

}  // namespace tensorscope::python::heap_inspector
