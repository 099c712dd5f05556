#include "model/dump.h"

#include "dump_generated.h"
#include "model/type_names.h"

namespace tensorscope::model {

std::string Device::text() const {
  std::string name = device_type_name(type);
  return index >= 0 && type > 0 ? name + ":" + std::to_string(index) : name;
}

std::string Tensor::dtype_text() const { return dtype_name(dtype); }
std::string Tensor::layout_text() const { return layout_name(layout); }

std::string Tensor::shape_text() const {
  if (!(known & uint32_t(dump::TensorKnown::sizes))) return "?";
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); i++) out += (i ? ", " : "") + std::to_string(sizes[i]);
  return out + "]";
}

bool Tensor::is_view() const { return (flags & uint32_t(dump::TensorFlag::view)) != 0; }

const DeviceMemory* Dump::memory_of(Device device) const {
  for (const DeviceMemory& memory : device_memory) {
    if (memory.device == device) return &memory;
  }
  return nullptr;
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

}  // namespace tensorscope::model
