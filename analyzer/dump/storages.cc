#include "dump/storages.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "dump_generated.h"
#include "tensorscope/rules/interval_union.h"

namespace tensorscope::model {

namespace {

constexpr int8_t kCpu = 0;  // c10::DeviceType

// Finds the block that contains an address. Blocks may be nested (a block inside a mapped file), so each also remembers
// which of those that begin no later reaches farthest.
template <typename Block>
class BlockIndex {
 public:
  template <typename Wanted>
  BlockIndex(const std::vector<Block>& blocks, Wanted wanted) : blocks_(blocks) {
    for (uint32_t i = 0; i < blocks.size(); i++) {
      if (wanted(blocks[i])) by_device_[blocks[i].device].push_back({i, i});
    }
    for (auto& [device, entries] : by_device_) {
      std::sort(entries.begin(), entries.end(),
                [&](const Entry& a, const Entry& b) { return blocks[a.block].pointer < blocks[b.block].pointer; });
      uint32_t farthest = entries.front().block;
      for (Entry& entry : entries) {
        if (end(entry.block) > end(farthest)) farthest = entry.block;
        entry.farthest = farthest;
      }
    }
  }

  uint32_t find(Device device, uint64_t address) const {
    auto entries = by_device_.find(device);
    if (entries == by_device_.end()) return kNone;
    auto after =
        std::upper_bound(entries->second.begin(), entries->second.end(), address,
                         [&](uint64_t value, const Entry& entry) { return value < blocks_[entry.block].pointer; });
    if (after == entries->second.begin()) return kNone;
    const Entry& entry = *std::prev(after);
    if (contains(entry.block, address)) return entry.block;
    return contains(entry.farthest, address) ? entry.farthest : kNone;
  }

 private:
  struct Entry {
    uint32_t block, farthest;
  };
  uint64_t end(uint32_t i) const { return blocks_[i].pointer + std::max<uint64_t>(blocks_[i].nbytes, 1); }
  bool contains(uint32_t i, uint64_t address) const { return address >= blocks_[i].pointer && address < end(i); }

  const std::vector<Block>& blocks_;
  std::map<Device, std::vector<Entry>> by_device_;
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
    auto [found, fresh] = known[tensor.device].try_emplace(claims[i].base, uint32_t(dump.storages.size()));
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

  const BlockIndex index(dump.allocations, [](const Allocation&) { return true; });
  const BlockIndex runtime(dump.runtime_blocks, tells_storages);
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

}  // namespace tensorscope::model
