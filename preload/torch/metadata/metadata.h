// SPDX-License-Identifier: Apache-2.0
// What a live tensor is: read at dump time, from outside, with no strong reference and no Python call. The facts come
// from the fields of the TensorImpl (tensor_layout.h says why, and how they are checked against torch's stable C shim)
// and a few exported functions. Kinds whose metadata Python computes, or that have no storage, give what can be had and
// a sentence why the rest cannot (docs/limits.md).
//
// Context: collector; read() inside live::look_at_live (the tensor's base is constructed and its destructor is
// held up), so they take no lock and do not allocate.
#pragma once

#include <cstdint>

#include "support/whole.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/tensor_layout.h"
#include "torch/metadata/torch_functions.h"

namespace tensorscope::torch {

struct Metadata {
  uint32_t known = 0;  // format::TensorKnown bits
  uint32_t flags = 0;  // format::TensorFlag bits
  uint64_t storage_base = 0;
  uint64_t storage_nbytes = 0;
  int64_t storage_offset = 0;
  int64_t numel = 0;
  uint64_t grad = 0;
  uint64_t grad_fn = 0;            // its class: ObjectClasses::by_vtable of its first word, read safely
  uint32_t output = 0;             // which of grad_fn's outputs
  uint32_t version = 0;            // of its version counter, plus 1; 0: not known
  const char* class_name = "";     // mangled RTTI name: lives in the library that defines the class
  const char* note = "";           // literal
  const int64_t* sizes = nullptr;  // in the tensor: to be copied before read()'s caller returns
  const int64_t* strides = nullptr;
  uint16_t itemsize = 0;
  uint8_t ndim = 0;
  int8_t device_type = -1, device_index = -1, dtype = -1, layout = -1;
};

class MetadataReader {
 public:
  // Before each dump: looks up what was not there yet. `objects` outlives the dump. False: no torch in the process.
  // Context: no table lock.
  bool start(const SharedObjectMap* objects);
  // The same with functions that were resolved elsewhere.
  void start_with(const SharedObjectMap* objects, const TorchFunctions& torch);

  // Needed before read() until layout_known(): what a LayoutFinder found among live tensors. `why` (a literal) goes to
  // the coverage record where it is none.
  bool layout_known() const { return layout().known(); }
  const TensorLayout& layout() const { return layout_.get(); }
  void use_layout(const TensorLayout& layout, const char* why);

  // Never throws, never blocks.
  void read(const void* impl, bool released, Metadata& out);

  ObjectClasses& classes() { return classes_; }
  const TorchFunctions& torch() const { return torch_; }

 private:
  void read_autograd(const void* impl, Metadata& out) const;
  void read_storage(const void* impl, bool released, Metadata& out);
  void read_shape(const void* impl, Metadata& out) const;
  void read_version(const void* impl, Metadata& out);

  TorchFunctions torch_;
  Whole<TensorLayout> layout_;
  ObjectClasses classes_;
};

}  // namespace tensorscope::torch
