// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/tensor_layout.h"

#include <string.h>

#include "tensorscope/rules/plain_tensor.h"

namespace tensorscope::torch {

namespace {

constexpr uint64_t kInlineDims = 5;  // c10/core/impl/SizesAndStrides.h
constexpr char kPlainStorage[] = "N3c1011StorageImplE";
constexpr char kVersionCounter[] = "N3c1015VariableVersion14VersionCounterE";
constexpr char kQuantized[] = "N2at11QTensorImplE";
constexpr char kFunctionalStorage[] = "N2at17functionalization21FunctionalStorageImplE";

template <typename T>
T field(const void* object, int offset) {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof(value));
  return value;
}

bool looks_like_object(uint64_t word) { return word % 8 == 0 && word >= 0x10000 && word < uint64_t{1} << 56; }

// The bytes that a view reaches, from the start of its storage.
bool reach(const TensorFields& f, int itemsize, int64_t& bytes) {
  int64_t last = f.storage_offset;
  for (uint64_t i = 0; i < f.ndim; ++i) {
    int64_t step;
    if (f.strides[i] < 0 || __builtin_mul_overflow(f.sizes[i] - 1, f.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return false;
    }
  }
  return !__builtin_mul_overflow(last + 1, int64_t(itemsize), &bytes);
}

struct KeyNumbers {
  int backends = 0;  // bits of the key set that name backends; functionality key k is bit backends + k - 1
  int python = 0, sparse = 0, sparse_csr = 0;
};

// c10/core/DispatchKeySet.h: the numbers move between versions, the names do not.
KeyNumbers read_key_numbers(const TorchFunctions& torch) {
  KeyNumbers numbers;
  if (torch.dispatch_key_name == nullptr || torch.backend_name == nullptr) return numbers;
  for (uint8_t i = 1; i < 32; ++i) {
    if (strcmp(torch.backend_name(i), "UNKNOWN_BACKEND_BIT") != 0) numbers.backends = i;
  }
  for (uint16_t i = 1; i < 64; ++i) {
    const char* name = torch.dispatch_key_name(i);
    if (strcmp(name, "Python") == 0) numbers.python = i;
    if (strcmp(name, "Sparse") == 0) numbers.sparse = i;
    if (strcmp(name, "SparseCsr") == 0) numbers.sparse_csr = i;
  }
  return numbers;
}

uint64_t key_bit(const KeyNumbers& numbers, int key) {
  const int bit = numbers.backends + key - 1;
  return numbers.backends != 0 && key != 0 && bit < 64 ? uint64_t{1} << bit : 0;
}

}  // namespace

bool TensorFields::consistent() const {
  int64_t product = 1;
  for (uint64_t i = 0; i < ndim; ++i) {
    if (sizes[i] < 0 || __builtin_mul_overflow(product, sizes[i], &product)) return false;
  }
  return product == numel && storage_offset >= 0;
}

bool read_fields(const TensorLayout& layout, const void* impl, TensorFields& out) {
  const char* bytes = static_cast<const char*>(impl);
  out.ndim = field<uint64_t>(impl, layout.sizes);
  if (out.ndim > kMaxDims) return false;
  if (out.ndim <= kInlineDims) {
    out.sizes = reinterpret_cast<const int64_t*>(bytes + layout.sizes + 8);
    out.strides = reinterpret_cast<const int64_t*>(bytes + layout.strides());
  } else {
    const uint64_t outside = field<uint64_t>(impl, layout.sizes + 8);
    if (!looks_like_object(outside)) return false;
    out.sizes = reinterpret_cast<const int64_t*>(outside);
    out.strides = out.sizes + out.ndim;
  }
  out.storage_offset = field<int64_t>(impl, layout.storage_offset());
  out.numel = field<int64_t>(impl, layout.numel());
  out.dtype = field<uint16_t>(impl, layout.dtype());
  const int engaged = layout.device() + (layout.engaged_first ? 0 : 2);
  const int type = layout.device() + (layout.engaged_first ? 1 : 0);
  const bool has_device = field<uint8_t>(impl, engaged) == 1;
  out.device_type = has_device ? field<int8_t>(impl, type) : int8_t{-1};
  out.device_index = has_device ? field<int8_t>(impl, type + 1) : int8_t{-1};
  out.key_set = field<uint64_t>(impl, layout.key_set());
  return true;
}

const void* storage_of(const TensorLayout& layout, const void* impl, ObjectClasses& classes) {
  const uint64_t word = field<uint64_t>(impl, layout.storage());
  if (!looks_like_object(word)) return nullptr;
  const void* storage = reinterpret_cast<const void*>(word);
  const char* name = classes.of(storage);
  return strcmp(name, kPlainStorage) == 0 || strcmp(name, kFunctionalStorage) == 0 ? storage : nullptr;
}

const void* version_counter_of(const TensorLayout& layout, const void* impl, ObjectClasses& classes) {
  const uint64_t word = field<uint64_t>(impl, layout.version_counter());
  if (!looks_like_object(word)) return nullptr;
  const void* counter = reinterpret_cast<const void*>(word);
  return strcmp(classes.of(counter), kVersionCounter) == 0 ? counter : nullptr;
}

LayoutFinder::LayoutFinder(const TorchFunctions& functions, ObjectClasses& classes)
    : torch_(functions), classes_(classes) {
  const KeyNumbers keys = read_key_numbers(functions);
  python_keys_ = key_bit(keys, keys.python);
  sparse_keys_ = key_bit(keys, keys.sparse) | key_bit(keys, keys.sparse_csr);
}

TensorLayout LayoutFinder::candidate(size_t i) const {
  TensorLayout layout;
  layout.base = kBases[i / 4];
  // storage_, autograd_meta_, extra_meta_, version_counter_ and the slot for the Python object come before.
  layout.sizes = layout.base + 4 * 8 + kPythonSlots[i / 2 % 2];
  layout.engaged_first = i % 2 != 0;
  return layout;
}

bool LayoutFinder::agrees(const TensorLayout& layout, const void* impl, const void* storage) const {
  TensorFields fields;
  if (field<uint64_t>(impl, layout.sizes) > kInlineDims || !read_fields(layout, impl, fields)) return false;
  const int itemsize = element_size(fields.dtype);
  const int64_t nbytes = field<int64_t>(storage, layout.nbytes());
  int64_t reached = 0;
  // A CPU tensor has device index -1 or 0.
  const bool device = fields.device_type > 0 || (fields.device_type == 0 && fields.device_index <= 0);
  return itemsize != 0 && device && fields.consistent() &&
         (fields.numel == 0 || (reach(fields, itemsize, reached) && reached <= nbytes));
}

// Only for tensors of which neither Python nor symbols decide: then no call leaves C++ or throws.
bool LayoutFinder::shim_agrees(const TensorLayout& layout, const void* impl) const {
  TensorFields fields;
  read_fields(layout, impl, fields);
  const void* tensor = impl;
  int64_t dim = -1, numel = -1, offset = -1, storage = -1;
  int32_t dtype = -1;
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;
  if (torch_.dim(&tensor, &dim) != 0 || torch_.numel(&tensor, &numel) != 0 ||
      torch_.storage_offset(&tensor, &offset) != 0 || torch_.storage_size(&tensor, &storage) != 0 ||
      torch_.dtype(&tensor, &dtype) != 0 || torch_.sizes(&tensor, &sizes) != 0 ||
      torch_.strides(&tensor, &strides) != 0) {
    return false;
  }
  const size_t row = fields.ndim * sizeof(int64_t);
  const void* storage_impl = storage_of(layout, impl, classes_);
  return uint64_t(dim) == fields.ndim && numel == fields.numel && offset == fields.storage_offset &&
         dtype == fields.dtype && memcmp(sizes, fields.sizes, row) == 0 && memcmp(strides, fields.strides, row) == 0 &&
         storage_impl != nullptr && field<int64_t>(storage_impl, layout.nbytes()) == storage;
}

void LayoutFinder::add(const void* impl) {
  const char* const class_name = classes_.of(impl);
  // The one subclass whose own fields come after those of the base, and which has a storage of the usual kind.
  const bool usual = strcmp(class_name, rules::kPlainTensorClass) == 0 || strcmp(class_name, kQuantized) == 0;
  if (!usual || !torch_.has_storage(impl)) return;
  ++seen_;
  for (size_t i = 0; i < kCandidates; ++i) {
    const TensorLayout layout = candidate(i);
    const void* storage = storage_of(layout, impl, classes_);
    if (storage == nullptr || !agrees(layout, impl, storage)) continue;
    ++votes_[i];
    TensorFields fields;
    read_fields(layout, impl, fields);
    telling_[i] += fields.numel > 1;
    const bool plain = field<uint64_t>(impl, layout.extra_meta()) == 0 && (fields.key_set & python_keys_) == 0;
    if (plain && python_keys_ != 0 && torch_.has_shim() && !shim_agrees(layout, impl)) ++denied_[i];
  }
}

Status LayoutFinder::result(TensorLayout& layout) const {
  constexpr Status unknown = Status::failed("the layout of this torch's tensors is unknown");
  layout = {};
  if (seen_ == 0) {
    return Status::failed("no tensor of the usual kind is alive from which the places of the fields could be learnt");
  }
  size_t best = 0;
  for (size_t i = 1; i < kCandidates; ++i) {
    if (telling_[i] > telling_[best] || (telling_[i] == telling_[best] && votes_[i] > votes_[best])) best = i;
  }
  if (votes_[best] * 2 < seen_) return unknown;
  for (size_t i = 0; i < kCandidates; ++i) {
    if (i != best && telling_[i] == telling_[best] && votes_[i] == votes_[best]) return unknown;
  }
  if (denied_[best] != 0) return Status::failed("the C shim and the fields of tensors disagree");
  layout = candidate(best);
  layout.python_keys = python_keys_;
  layout.sparse_keys = sparse_keys_;
  return Status::done();
}

}  // namespace tensorscope::torch
