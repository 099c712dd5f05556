// SPDX-License-Identifier: Apache-2.0
#include "dump/dump.h"

#include <algorithm>

#include "dump/type_names.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

std::string Device::text() const {
  std::string name = device_type_name(type);
  return index >= 0 && type > 0 ? name + ":" + std::to_string(index) : name;
}

std::string Tensor::dtype_text() const { return dtype_name(dtype); }
std::string Tensor::layout_text() const { return layout_name(layout); }

std::string Tensor::shape_text() const {
  if (!(known & uint32_t(format::TensorKnown::sizes))) return "?";
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); i++) out += (i ? ", " : "") + std::to_string(sizes[i]);
  return out + "]";
}

bool Tensor::is_view() const { return (flags & uint32_t(format::TensorFlag::view)) != 0; }
bool Tensor::knows_view() const { return (known & uint32_t(format::TensorKnown::leaf)) != 0; }
bool Tensor::knows_offset() const { return (known & uint32_t(format::TensorKnown::strides)) != 0; }

bool Tensor::freed_during_dump() const { return (flags & uint32_t(format::TensorFlag::freed_during_dump)) != 0; }

// A sparse one has parts instead.
bool Tensor::knows_memory() const { return (known & uint32_t(format::TensorKnown::storage)) != 0 || is_sparse(); }

bool Tensor::knows_size() const {
  constexpr auto kNeeded = uint32_t(format::TensorKnown::sizes) | uint32_t(format::TensorKnown::dtype);
  return is_sparse() ? parts != 0 : (known & kNeeded) == kNeeded;
}

bool Tensor::is_sparse() const {
  return class_name.ends_with("::SparseTensorImpl") || class_name.ends_with("::SparseCsrTensorImpl");
}

const DeviceMemory* Dump::memory_of(Device device) const {
  for (const DeviceMemory& memory : device_memory) {
    if (memory.device == device) return &memory;
  }
  return nullptr;
}

const DeviceTotal* Dump::total_of(Device device) const {
  for (const DeviceTotal& total : totals.devices) {
    if (total.device == device) return &total;
  }
  return nullptr;
}

size_t Steps::step_of(uint64_t serial) const {
  return size_t(std::lower_bound(ends.begin(), ends.end(), serial) - ends.begin());
}

const char* text(StorageKind kind) {
  switch (kind) {
    case StorageKind::allocator:
      return "allocator";
    case StorageKind::external:
      return "external";
    case StorageKind::shared:
      return "shared";
    case StorageKind::pinned:
      return "pinned";
    case StorageKind::runtime:
      return "runtime";
    case StorageKind::unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace tensorscope::analyzer
