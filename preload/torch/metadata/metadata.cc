// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/metadata.h"

#include <string.h>

#include "dump_generated.h"
#include "support/coverage.h"
#include "tensorscope/rules/plain_tensor.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

using format::TensorFlag;
using format::TensorKnown;

// What the fields of the base class are worth in each implementation. The names were read in the headers of torch 2.13
// (ATen/*TensorImpl.h, ATen/functorch/*.h, ATen/FunctionalTensorWrapper.h) and, as far as they exist there, 2.6
// and 1.13.
struct Kind {
  const char* class_name;  // mangled; only the beginning where template arguments follow
  bool plain;
  bool sizes, strides, storage;
  int8_t layout;  // -1: by other means, or not known
  const char* note;
};
constexpr char kOpaque[] = "N2at16OpaqueTensorImplI";
constexpr Kind kKinds[] = {
    {rules::kPlainTensorClass, true, true, true, true, 0, ""},
    {"N2at11QTensorImplE", true, true, true, true, 0, "quantized: scale and zero point are not recorded"},
    {"N2at23FunctionalTensorWrapperE", false, true, true, true, 0,
     "functional wrapper: the memory belongs to the wrapped tensor, which has its own row"},
    {"N2at9functorch17BatchedTensorImplE", false, true, true, false, 0,
     "inside vmap: sizes without the batch dimension; the memory belongs to the wrapped tensor"},
    {"N2at9functorch13TensorWrapperE", false, true, true, false, 0,
     "inside a functorch transform: the memory belongs to the wrapped tensor"},
    {"N2at16SparseTensorImplE", false, true, false, false, 1,
     "sparse: indices and values are separate tensors with their own rows"},
    {"N2at19SparseCsrTensorImplE", false, true, false, false, -1,
     "sparse: indices and values are separate tensors with their own rows"},
    {"N2at6native16NestedTensorImplE", false, false, false, true, 0,
     "nested: each component has its own shape; sizes and strides are unknown"},
    {"N2at16OpaqueTensorImplIN3c1013intrusive_ptrINS_6native25IntrusivePtrTargetWrapperIN5ideep6tensorE", false, true,
     false, false, 3, "mkldnn: its memory belongs to oneDNN and is unknown"},
    {"N2at16OpaqueTensorImplI", false, true, false, false, -1,
     "opaque: its memory belongs to the backend and is unknown"},
};
constexpr char kUndefined[] = "N3c1019UndefinedTensorImplE";
constexpr char kNoteUndefined[] = "the undefined tensor, one for the whole process";
constexpr char kNoteUnknownClass[] = "unknown tensor class: only the common fields were read";
constexpr char kNoteNoLayout[] = "this torch's tensor fields could not be read: class and autograd only";
constexpr char kNotePython[] = "a subclass or fake tensor: this is the C++ object, Python may say otherwise";
constexpr char kNoteSymbolic[] = "symbolic sizes: known only to Python";
constexpr char kNoteSymbolicBytes[] = "symbolic storage size: known only to Python";
constexpr char kNoteMeta[] = "meta or fake tensor: no memory behind it";
constexpr int8_t kMetaDevice = 14;  // c10/core/DeviceType.h

const Kind* kind_of(const char* class_name) {
  for (const Kind& kind : kKinds) {
    const size_t length = strlen(kind.class_name);
    const bool prefix = strncmp(kind.class_name, kOpaque, sizeof(kOpaque) - 1) == 0;
    if (prefix ? strncmp(class_name, kind.class_name, length) == 0 : strcmp(class_name, kind.class_name) == 0) {
      return &kind;
    }
  }
  return nullptr;
}

void set_known(Metadata& out, TensorKnown what) { out.known |= uint32_t(what); }
void set_flag(Metadata& out, TensorFlag what) { out.flags |= uint32_t(what); }
void set_note(Metadata& out, const char* note) {
  if (out.note[0] == 0) out.note = note;
}

}  // namespace

bool MetadataReader::start(const SharedObjectMap* objects) {
  classes_.start(objects);
  if (!resolve_torch_functions(torch_)) return false;
  if (torch_.has_storage != nullptr) return true;
  set_coverage(Subject::metadata, Seen::no, "this torch has no TensorImpl::has_storage");
  return false;
}

void MetadataReader::start_with(const SharedObjectMap* objects, const TorchFunctions& torch) {
  classes_.start(objects);
  torch_ = torch;
}

void MetadataReader::use_layout(const TensorLayout& layout, const char* why) {
  layout_.set(layout);
  if (!layout.known()) {
    set_coverage(Subject::metadata, Seen::partly, why);
  } else if (const char* missing = torch_.what_is_missing()) {
    set_coverage(Subject::metadata, Seen::partly, missing);
  } else if (!torch_.has_shim()) {
    set_coverage(Subject::metadata, Seen::yes,
                 "read from the tensors' fields; this torch has no C shim to check against");
  } else {
    set_coverage(Subject::metadata, Seen::yes, "read from the tensors' fields, checked against torch's C shim");
  }
}

void MetadataReader::read_autograd(const void* impl, Metadata& out) const {
  // Without autograd metadata, torch's own functions look for a factory that may not be registered yet.
  if (layout().known() && word_at(impl, layout().autograd_meta()) == 0) {
    set_known(out, TensorKnown::requires_grad);
    set_known(out, TensorKnown::grad);
    set_known(out, TensorKnown::grad_fn);
    set_known(out, TensorKnown::leaf);
    set_flag(out, TensorFlag::leaf);
    return;
  }
  const void* tensor = impl;
  if (torch_.requires_grad != nullptr) {
    set_known(out, TensorKnown::requires_grad);
    if (torch_.requires_grad(impl)) set_flag(out, TensorFlag::requires_grad);
  }
  if (torch_.grad_fn != nullptr) {
    set_known(out, TensorKnown::grad_fn);
    set_known(out, TensorKnown::leaf);
    out.grad_fn = reinterpret_cast<uint64_t>(torch_.grad_fn(&tensor));
    if (out.grad_fn == 0) set_flag(out, TensorFlag::leaf);
    if (out.grad_fn != 0 && torch_.output_nr != nullptr) out.output = uint32_t(torch_.output_nr(&tensor));
  }
  if (!layout().known()) return;
  if (torch_.grad != nullptr && torch_.undefined_tensor != nullptr) {
    set_known(out, TensorKnown::grad);
    const void* grad = *torch_.grad(impl);
    if (grad != torch_.undefined_tensor) out.grad = reinterpret_cast<uint64_t>(grad);
  }
  if (torch_.is_view != nullptr && torch_.is_view(&tensor)) set_flag(out, TensorFlag::view);
}

void MetadataReader::read_storage(const void* impl, bool released, Metadata& out) {
  if (released || !torch_.has_storage(impl)) {
    set_known(out, TensorKnown::storage);
    return;
  }
  const void* storage = storage_of(layout(), impl, classes_);
  if (storage == nullptr) return;
  const int64_t nbytes = int64_t(word_at(storage, layout().nbytes()));
  if (nbytes < 0) return set_note(out, kNoteSymbolicBytes);
  set_known(out, TensorKnown::storage);
  out.storage_base = word_at(storage, layout().data());
  out.storage_nbytes = uint64_t(nbytes);
}

void MetadataReader::read_shape(const void* impl, Metadata& out) const {
  TensorFields fields;
  if (!read_fields(layout(), impl, fields)) return;
  if (out.itemsize = uint16_t(element_size(fields.dtype)); out.itemsize != 0) {
    set_known(out, TensorKnown::dtype);
    out.dtype = int8_t(fields.dtype);
  }
  if (fields.device_type >= 0) {
    set_known(out, TensorKnown::device);
    out.device_type = fields.device_type;
    out.device_index = fields.device_index;
  }
  const Kind* kind = kind_of(out.class_name);
  const bool python = (fields.key_set & layout().python_keys) != 0;
  if (python) set_flag(out, TensorFlag::exotic);
  if (fields.device_type == kMetaDevice) set_note(out, kNoteMeta);
  if (python) set_note(out, kNotePython);

  if (kind->layout >= 0 && !python && (kind->layout != 0 || (fields.key_set & layout().sparse_keys) == 0)) {
    set_known(out, TensorKnown::layout);
    out.layout = kind->layout;
  } else if (torch_.layout != nullptr && !kind->plain && !python) {
    const void* tensor = impl;
    int32_t layout = -1;
    if (torch_.layout(&tensor, &layout) == 0) {
      set_known(out, TensorKnown::layout);
      out.layout = int8_t(layout);
    }
  }
  if (!kind->sizes) return;
  // The first word of ExtraMeta is the pointer to symbolic shapes, from 2.1 on, as the shim.
  const uint64_t extra = word_at(impl, layout().extra_meta());
  const bool symbolic = torch_.has_shim() && extra != 0 && word_at(reinterpret_cast<const void*>(extra), 0) != 0;
  if (symbolic || !fields.consistent()) {
    set_flag(out, TensorFlag::exotic);
    out.note = kNoteSymbolic;
    return;
  }
  set_known(out, TensorKnown::sizes);
  out.ndim = uint8_t(fields.ndim);
  out.sizes = fields.sizes;
  out.numel = fields.numel;
  if (!kind->strides) return;
  set_known(out, TensorKnown::strides);
  out.strides = fields.strides;
  out.storage_offset = fields.storage_offset;
}

void MetadataReader::read_version(const void* impl, Metadata& out) {
  const void* counter = version_counter_of(layout(), impl, classes_);
  if (counter == nullptr) return;
  const uint32_t version = uint32_t(word_at(counter, size_t(layout().version())));
  out.version = version == UINT32_MAX ? 0 : version + 1;
}

void MetadataReader::read(const void* impl, bool released, Metadata& out) {
  out = Metadata{};
  if (released) set_flag(out, TensorFlag::released);
  out.class_name = classes_.of(impl);
  if (strcmp(out.class_name, kUndefined) == 0) {
    set_flag(out, TensorFlag::exotic);
    out.note = kNoteUndefined;
    return;
  }
  read_autograd(impl, out);
  const Kind* kind = kind_of(out.class_name);
  if (kind == nullptr || !kind->plain) set_flag(out, TensorFlag::exotic);
  if (!layout().known() || kind == nullptr) {
    out.note = kind == nullptr ? kNoteUnknownClass : kNoteNoLayout;
    return;
  }
  out.note = kind->note;
  read_shape(impl, out);
  read_version(impl, out);
  if (kind->storage) {
    read_storage(impl, released, out);
  } else {
    set_known(out, TensorKnown::storage);
  }
}

}  // namespace tensorscope::torch
