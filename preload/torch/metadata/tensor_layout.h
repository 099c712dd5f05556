// SPDX-License-Identifier: Apache-2.0
// Where the fields of c10::TensorImpl and c10::StorageImpl lie in this process's torch.
//
// Reading the fields instead of calling sizes(), strides() and device() is what makes the metadata of every tensor safe
// to read: those call virtual functions that may enter Python (subclasses, fake tensors), throw (nested, symbolic) or
// print. The order of the members has been the same since 1.13 (c10/core/TensorImpl.h, "Note [TensorImpl size
// constraints]" and the static assertions below it in 1.13, 2.6 and 2.13); two things differ: the size of
// intrusive_ptr_target (24 bytes with two counts of 8, later 16) and of the slot for the Python object (16, later 8).
// So the layout is found by votes of live tensors, each checked in itself, and then compared with what the C shim says
// of plain tensors. A torch that agrees with no candidate gives class names and autograd facts only, and the coverage
// record says so.
//
// A TensorImpl, and the two things that differ (8 candidates = 2 sizes of base x 2 of slot x 2 orders of device_opt_):
//
//     0      vtable, counts                       base: 16 or 24 bytes
//     base   storage, autograd_meta, extra_meta, version_counter
//            Python slot                          8 or 16 bytes
//     sizes  sizes and strides, storage_offset, numel, dtype, device_opt_, key_set
//
// A candidate gets a vote from each tensor of which it reads a storage by its class, sizes whose product is numel, a
// known dtype, a device, and no element beyond the storage's end. Votes of tensors with more than one element count
// first: a scalar agrees with many candidates. The best candidate wins if at least half of the tensors voted for it, no
// other has as many votes, and the shim denied it for no tensor.
//
// Context: collector; add() is called under a table lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/status.h"
#include "tensorscope/rules/element_size.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/torch_functions.h"

namespace tensorscope::torch {

inline constexpr int kMaxDims = 64;

struct TensorLayout {
  // Offsets in TensorImpl. The base class intrusive_ptr_target has the same size in StorageImpl.
  int base = 0;
  int sizes = 0;
  bool engaged_first = false;  // device_opt_ is c10's own optional (1.13): engaged, type, index; std's has it last
  uint64_t python_keys = 0;    // bits of the key set: __torch_dispatch__ decides about this tensor
  uint64_t sparse_keys = 0;    // ... it is sparse in some layout

  bool known() const { return sizes != 0; }
  int storage() const { return base; }
  int autograd_meta() const { return base + 8; }
  int extra_meta() const { return base + 16; }
  int version_counter() const { return base + 24; }
  int strides() const {
    return sizes + 48;
  }  // inline; sizes and strides together where there are more than 5 dimensions
  int storage_offset() const { return sizes + 88; }
  int numel() const { return sizes + 96; }
  int dtype() const { return sizes + 104; }
  int device() const { return sizes + 106; }  // optional<Device>, three bytes
  int key_set() const { return sizes + 112; }
  // Offsets in StorageImpl
  int data() const { return base; }
  int nbytes() const { return base + 32; }  // after DataPtr: pointer, context, deleter, device
  // In the version counter, whose base class is the same too
  int version() const { return base; }
};

// What the fields of one TensorImpl say.
struct TensorFields {
  uint64_t ndim = 0;
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;
  int64_t storage_offset = 0;
  int64_t numel = 0;
  uint16_t dtype = 0;
  int8_t device_type = -1, device_index = -1;  // -1: none
  uint64_t key_set = 0;

  // The number of elements is the product of the sizes: not so while they change, or where they are symbols.
  bool consistent() const;
};

// False: the number of dimensions is impossible.
bool read_fields(const TensorLayout& layout, const void* impl, TensorFields& out);

// The StorageImpl of a TensorImpl, where the word there is one; else null.
const void* storage_of(const TensorLayout& layout, const void* impl, ObjectClasses& classes);

// What counts changes in place of a TensorImpl, where the word there is one: inference tensors have none. Else null.
const void* version_counter_of(const TensorLayout& layout, const void* impl, ObjectClasses& classes);

class LayoutFinder {
 public:
  LayoutFinder(const TorchFunctions& functions, ObjectClasses& classes);

  // One more live tensor; others than plain ones with a storage are passed over.
  void add(const void* impl);

  // The candidate that all agree on. `layout` is not known() where there is none.
  Status result(TensorLayout& layout) const;

 private:
  static constexpr int kBases[] = {16, 24};
  static constexpr int kPythonSlots[] = {8, 16};
  static constexpr size_t kCandidates = 8;

  TensorLayout candidate(size_t i) const;
  bool agrees(const TensorLayout& layout, const void* impl, const void* storage) const;
  bool shim_agrees(const TensorLayout& layout, const void* impl) const;

  const TorchFunctions& torch_;
  ObjectClasses& classes_;
  size_t votes_[kCandidates] = {};
  size_t telling_[kCandidates] = {};  // votes of tensors with more than one element
  size_t denied_[kCandidates] = {};   // the shim says otherwise
  size_t seen_ = 0;
  uint64_t python_keys_ = 0;
  uint64_t sparse_keys_ = 0;
};

using rules::element_size;

}  // namespace tensorscope::torch
