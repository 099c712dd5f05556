#include "dump/storages.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "dump_generated.h"
#include "tensorscope/rules/block_index.h"
#include "tensorscope/rules/interval_union.h"

namespace tensorscope::analyzer {

namespace {

constexpr int8_t kCpu = 0;  // c10::DeviceType

// Finds the block of a device that contains an address.
template <typename Block>
class DeviceBlocks {
 public:
  template <typename Wanted>
  DeviceBlocks(const std::vector<Block>& blocks, Wanted wanted) {
    std::map<Device, std::vector<uint32_t>> by_device;
    for (uint32_t i = 0; i < blocks.size(); i++) {
      if (wanted(blocks[i])) by_device[blocks[i].device].push_back(i);
    }
    for (const auto& [device, numbers] : by_device) {
      by_device_.try_emplace(device, numbers, Bounds{&blocks});
    }
  }

  uint32_t find(Device device, uint64_t address) const {
    const auto index = by_device_.find(device);
    return index == by_device_.end() ? kNone : index->second.find(address).value_or(kNone);
  }

 private:
  struct Bounds {
    const std::vector<Block>* blocks;
    std::pair<uint64_t, uint64_t> operator()(uint32_t i) const { return {(*blocks)[i].pointer, (*blocks)[i].nbytes}; }
  };
  std::map<Device, rules::BlockIndex<Bounds>> by_device_;
};

// Whether every allocation on this device can be expected to be in the dump, so that memory in none of them is foreign.
bool allocations_covered(const Dump& dump, Device device) {
  const char* subject = device.type == kCpu ? "CPU memory" : "CUDA memory";
  for (const Coverage& row : dump.coverage) {
    if (row.subject == subject) return row.seen == int(format::Seen::yes) && row.missed == 0;
  }
  return false;
}

// Memory of a device that torch's allocator took is not foreign: what lies in it is in a block that was not recorded.
bool tells_storages(const RuntimeBlock& block) { return block.device.is_cpu() || !block.by_torch; }

StorageKind kind_of(const Dump& dump, const Storage& storage) {
  if (storage.runtime_block != kNone) {
    return dump.runtime_blocks[storage.runtime_block].device.is_cpu() ? StorageKind::pinned : StorageKind::runtime;
  }
  if (storage.allocation == kNone) {
    return allocations_covered(dump, storage.device) ? StorageKind::external : StorageKind::unknown;
  }
  switch (format::AllocationKind(dump.allocations[storage.allocation].kind)) {
    case format::AllocationKind::heap:
      return StorageKind::allocator;
    case format::AllocationKind::mapped:
      return StorageKind::shared;
    case format::AllocationKind::caching:
    case format::AllocationKind::runtime:
      return storage.device.type == kCpu ? StorageKind::pinned : StorageKind::allocator;
  }
  return StorageKind::unknown;
}

}  // namespace

void build_storages(Dump& dump, const std::vector<StorageClaim>& claims) {
  std::map<Device, std::unordered_map<uint64_t, uint32_t>> known;
  for (uint32_t i = 0; i < dump.tensors.size(); i++) {
    Tensor& tensor = dump.tensors[i];
    if (claims[i].base == 0) continue;
    std::unordered_map<uint64_t, uint32_t>& of_device = known[tensor.device];
    if (of_device.empty()) of_device.reserve(dump.tensors.size());
    auto [found, fresh] = of_device.try_emplace(claims[i].base, uint32_t(dump.storages.size()));
    if (fresh) {
      // Tensors come by serial, so storages come by id, which is the serial of their oldest tensor.
      Storage& storage = dump.storages.emplace_back();
      storage.id = tensor.serial;
      storage.data_ptr = claims[i].base;
      storage.device = tensor.device;
    }
    Storage& storage = dump.storages[found->second];
    storage.nbytes = std::max(storage.nbytes, claims[i].nbytes);
    storage.tensors.push_back(i);
    tensor.storage = found->second;
  }

  const DeviceBlocks index(dump.allocations, [](const Allocation&) { return true; });
  const DeviceBlocks runtime(dump.runtime_blocks, tells_storages);
  std::map<Device, rules::IntervalUnion> counted;
  for (uint32_t i = 0; i < dump.storages.size(); i++) {
    Storage& storage = dump.storages[i];
    storage.allocation = index.find(storage.device, storage.data_ptr);
    if (storage.allocation != kNone) dump.allocations[storage.allocation].storages.push_back(i);
    if (storage.allocation == kNone) storage.runtime_block = runtime.find(storage.device, storage.data_ptr);
    if (storage.runtime_block != kNone) dump.runtime_blocks[storage.runtime_block].storages.push_back(i);
    storage.kind = kind_of(dump, storage);
    if (storage.nbytes != 0) {
      storage.own_nbytes = counted[storage.device].add(storage.data_ptr, storage.data_ptr + storage.nbytes);
    }
  }
}

}  // namespace tensorscope::analyzer
