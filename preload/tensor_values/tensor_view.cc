// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/tensor_view.h"

#include <string.h>

#include <atomic>

#include "support/locks/spin_lock.h"
#include "tensorscope/rules/plain_tensor.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/safe_reads.h"
#include "torch/metadata/shared_object_map.h"
#include "torch/metadata/tensor_layout.h"
#include "torch/metadata/torch_functions.h"

namespace tensorscope::tensor_values {

namespace {

constexpr int8_t kCpu = 0;                                // c10/core/DeviceType.h
constexpr int8_t kMeta = 14;                              // the same
constexpr int kFirstQuantized = 12, kLastQuantized = 14;  // qint8, quint8, qint32 (ScalarType.h)

// What is read without a lock once `known` is set.
struct TorchForms {
  torch::TensorLayout layout;
  uint64_t tensor_vtable = 0, storage_vtable = 0;
  const void* const* (*grad)(const void* impl) = nullptr;
  const void* undefined_tensor = nullptr;
  uint64_t other_form_keys = 0;  // conjugated, negated, known to be zero
};
TorchForms g_forms;
std::atomic<bool> g_is_known{false};
SpinLock g_learning;

uint64_t key_bits(const torch::TorchFunctions& torch, const char* const* names, size_t count) {
  int backends = 0;
  for (uint8_t i = 1; i < 32; ++i) {
    if (strcmp(torch.backend_name(i), "UNKNOWN_BACKEND_BIT") != 0) backends = i;
  }
  uint64_t bits = 0;
  for (uint16_t key = 1; key < 64; ++key) {
    for (size_t i = 0; i < count; ++i) {
      if (strcmp(torch.dispatch_key_name(key), names[i]) == 0) bits |= uint64_t{1} << (backends + key - 1);
    }
  }
  return bits;
}

// From one tensor: the vote of one with more than one element is as good as that of many. Where it is of another class
// than plain tensors are, nothing is learnt.
Readable learn(const void* impl) {
  if (!g_learning.try_lock()) return Readable::unknown;
  torch::TorchFunctions torch;
  Readable said = Readable::unknown;
  std::unique_ptr<torch::LoadedClasses> loaded;
  if (!g_is_known.load(std::memory_order_acquire)) loaded = torch::read_loaded_classes();
  if (loaded && torch::resolve_torch_functions(torch) && torch.has_storage && torch.backend_name &&
      torch.dispatch_key_name) {
    torch::ObjectClasses& classes = loaded->classes;
    torch::LayoutFinder finder(torch, classes);
    finder.add(impl);
    torch::TensorLayout layout;
    const void* storage = finder.result(layout) ? torch::storage_of(layout, impl, classes) : nullptr;
    if (storage) {
      constexpr const char* kOtherForms[] = {"Conjugate", "Negative", "ZeroTensor"};
      g_forms = {layout,     torch::word_at(impl, 0), torch::word_at(storage, 0),
                 torch.grad, torch.undefined_tensor,  key_bits(torch, kOtherForms, 3)};
      g_is_known.store(true, std::memory_order_release);
    } else if (strcmp(classes.of(impl), rules::kPlainTensorClass) != 0) {
      said = Readable::wrapped;
    }
  }
  g_learning.unlock();
  return g_is_known.load(std::memory_order_acquire) ? Readable::yes : said;
}

bool is_contiguous(const torch::TensorFields& fields) {
  int64_t expected = 1;
  for (uint64_t i = fields.ndim; i-- > 0;) {
    if (fields.sizes[i] == 1) continue;
    if (fields.strides[i] != expected) return false;
    expected *= fields.sizes[i];
  }
  return true;
}

}  // namespace

const char* readable_text(Readable readable) {
  switch (readable) {
    case Readable::yes:
      return "";
    case Readable::device:
      return "in the memory of a device";
    case Readable::wrapped:
      return "a tensor subclass, or inside vmap or tracing";
    case Readable::other_form:
      return "sparse, nested, quantized or lazily conjugated";
    case Readable::unknown:
      return "this torch's layout of tensors is unknown";
  }
  return "";
}

Readable view_tensor(const void* impl, TensorView& out) {
  if (!g_is_known.load(std::memory_order_acquire)) {
    if (const Readable said = learn(impl); said != Readable::yes) return said;
  }
  const torch::TensorLayout& layout = g_forms.layout;
  torch::TensorFields fields;
  if (torch::word_at(impl, 0) != g_forms.tensor_vtable) return Readable::wrapped;
  if (!torch::read_fields(layout, impl, fields)) return Readable::unknown;
  out.sizes = fields.sizes;
  out.strides = fields.strides;
  out.numel = fields.numel;
  out.ndim = int(fields.ndim);
  out.dtype = fields.dtype;
  out.device_type = fields.device_type;
  out.device_index = fields.device_index;
  out.itemsize = torch::element_size(fields.dtype);
  if ((fields.key_set & layout.python_keys) != 0 || fields.device_type == kMeta) return Readable::wrapped;
  if ((fields.key_set & (layout.sparse_keys | g_forms.other_form_keys)) != 0 || !fields.consistent() ||
      out.itemsize == 0 || (out.dtype >= kFirstQuantized && out.dtype <= kLastQuantized)) {
    return Readable::other_form;
  }
  const bool on_device = fields.device_type != kCpu;
  const uint64_t storage = torch::word_at(impl, size_t(layout.storage()));
  if (storage == 0) return on_device ? Readable::device : Readable::other_form;
  const void* const object = reinterpret_cast<const void*>(storage);
  if (torch::word_at(object, 0) != g_forms.storage_vtable) return on_device ? Readable::device : Readable::wrapped;
  const uint64_t base = torch::word_at(object, size_t(layout.data()));
  if (base == 0 && fields.numel != 0 && !on_device) return Readable::other_form;
  out.data = reinterpret_cast<const char*>(base) + fields.storage_offset * out.itemsize;
  out.contiguous = is_contiguous(fields);
  out.storage = object;
  out.storage_data = reinterpret_cast<const void*>(base);
  out.storage_bytes = torch::word_at(object, size_t(layout.nbytes()));
  return on_device ? Readable::device : Readable::yes;
}

const void* gradient_of(const void* impl) {
  if (!g_is_known.load(std::memory_order_acquire) || !g_forms.grad) return nullptr;
  // Without autograd metadata, torch's own function looks for a factory.
  if (torch::word_at(impl, size_t(g_forms.layout.autograd_meta())) == 0) return nullptr;
  const void* grad = *g_forms.grad(impl);
  return grad == g_forms.undefined_tensor ? nullptr : grad;
}

// c10::ScalarType (torch/headeronly/core/ScalarType.h, 2.13).
uint32_t version_of(const void* impl) {
  if (!g_is_known.load(std::memory_order_acquire)) return 0;
  const uint64_t counter = torch::word_at(impl, size_t(g_forms.layout.version_counter()));
  if (counter == 0) return 0;  // an inference tensor
  return uint32_t(torch::word_at(reinterpret_cast<const void*>(counter), size_t(g_forms.layout.version()))) + 1;
}

}  // namespace tensorscope::tensor_values
