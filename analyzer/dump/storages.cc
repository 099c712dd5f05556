// SPDX-License-Identifier: Apache-2.0
#include "dump/storages.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "dump/number_lists.h"
#include "dump_generated.h"
#include "support/number_map.h"
#include "tensorscope/rules/block_index.h"
#include "tensorscope/rules/interval_union.h"

namespace tensorscope::analyzer {

namespace {

constexpr int8_t kCpu = 0;  // c10::DeviceType

// Finds the block of a device that contains an address.
class DeviceBlocks {
 public:
  template <typename Block, typename Wanted>
  DeviceBlocks(const std::vector<Block>& blocks, Wanted wanted) {
    bounds_.reserve(blocks.size());
    for (const Block& block : blocks) bounds_.emplace_back(block.pointer, block.nbytes);
    std::map<Device, std::vector<uint32_t>> by_device;
    for (uint32_t i = 0; i < blocks.size(); i++) {
      if (wanted(blocks[i])) by_device[blocks[i].device].push_back(i);
    }
    for (const auto& [device, numbers] : by_device) by_device_.try_emplace(device, numbers, Bounds{bounds_.data()});
  }
  DeviceBlocks(const DeviceBlocks&) = delete;
  DeviceBlocks& operator=(const DeviceBlocks&) = delete;

  uint32_t find(Device device, uint64_t address) const {
    const auto index = by_device_.find(device);
    return index == by_device_.end() ? kNone : index->second.find(address).value_or(kNone);
  }

 private:
  struct Bounds {
    const std::pair<uint64_t, uint64_t>* bounds;
    std::pair<uint64_t, uint64_t> operator()(uint32_t i) const { return bounds[i]; }
  };
  std::vector<std::pair<uint64_t, uint64_t>> bounds_;  // apart from the rows, which are larger by far
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

void make_storages(Dump& dump, const std::vector<StorageClaim>& claims) {
  std::map<Device, NumberMap> known;
  std::vector<std::pair<uint32_t, uint32_t>> members;  // storage, tensor
  members.reserve(dump.tensors.size());
  dump.storages.reserve(dump.tensors.size());
  for (uint32_t i = 0; i < dump.tensors.size(); i++) {
    Tensor& tensor = dump.tensors[i];
    if (claims[i].base == 0) continue;
    NumberMap& of_device = known.try_emplace(tensor.device, known.empty() ? dump.tensors.size() : 0).first->second;
    const uint32_t number = of_device.add(claims[i].base, uint32_t(dump.storages.size()));
    if (number == dump.storages.size()) {
      // Tensors come by serial, so storages come by id, which is the serial of their oldest tensor.
      Storage& storage = dump.storages.emplace_back();
      storage.id = tensor.serial;
      storage.data_ptr = claims[i].base;
      storage.device = tensor.device;
    }
    Storage& storage = dump.storages[number];
    storage.nbytes = std::max(storage.nbytes, claims[i].nbytes);
    members.emplace_back(number, i);
    tensor.storage = number;
  }
  dump.tensors_of_storages = NumberLists(dump.storages.size(), members);
  for (uint32_t i = 0; i < dump.storages.size(); i++) dump.storages[i].tensors = dump.tensors_of_storages.of(i);
}

// Storages by device and address.
std::vector<uint32_t> by_address(const Dump& dump) {
  struct Place {
    Device device;
    uint64_t address;
    uint32_t storage;
  };
  std::vector<Place> places;
  places.reserve(dump.storages.size());
  for (uint32_t i = 0; i < dump.storages.size(); i++) {
    places.push_back({dump.storages[i].device, dump.storages[i].data_ptr, i});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.device == b.device ? a.address < b.address : a.device < b.device;
  });
  std::vector<uint32_t> order;
  order.reserve(places.size());
  for (const Place& place : places) order.push_back(place.storage);
  return order;
}

void join_allocations(Dump& dump, const std::vector<uint32_t>& order) {
  const DeviceBlocks index(dump.allocations, [](const Allocation&) { return true; });
  const DeviceBlocks runtime(dump.runtime_blocks, tells_storages);
  for (uint32_t i : order) {  // what is looked for next is near
    Storage& storage = dump.storages[i];
    storage.allocation = index.find(storage.device, storage.data_ptr);
    if (storage.allocation == kNone) storage.runtime_block = runtime.find(storage.device, storage.data_ptr);
  }
  std::vector<std::pair<uint32_t, uint32_t>> inside;  // allocation, storage
  inside.reserve(dump.storages.size());
  for (uint32_t i = 0; i < dump.storages.size(); i++) {
    Storage& storage = dump.storages[i];
    if (storage.allocation != kNone) inside.emplace_back(storage.allocation, i);
    if (storage.runtime_block != kNone) dump.runtime_blocks[storage.runtime_block].storages.push_back(i);
    storage.kind = kind_of(dump, storage);
  }
  dump.storages_of_allocations = NumberLists(dump.allocations.size(), inside);
  for (uint32_t i = 0; i < dump.allocations.size(); i++) {
    dump.allocations[i].storages = dump.storages_of_allocations.of(i);
  }
}

// Of storages that overlap, the one listed first counts the common part. Few do: only those are put together.
void count_own_bytes(Dump& dump, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> group;  // that overlap, in a row
  uint64_t reach = 0;
  const auto count = [&] {
    std::sort(group.begin(), group.end());
    rules::IntervalUnion counted;
    for (uint32_t i : group) {
      Storage& storage = dump.storages[i];
      const uint64_t end = storage.data_ptr + storage.nbytes;
      storage.own_nbytes = group.size() == 1 ? storage.nbytes : counted.add(storage.data_ptr, end);
    }
    group.clear();
  };
  for (uint32_t i : order) {
    const Storage& storage = dump.storages[i];
    if (storage.nbytes == 0) continue;
    if (!group.empty() && (dump.storages[group.front()].device != storage.device || storage.data_ptr >= reach)) {
      count();
      reach = 0;
    }
    group.push_back(i);
    reach = std::max(reach, storage.data_ptr + storage.nbytes);
  }
  count();
}

}  // namespace

void build_storages(Dump& dump, const std::vector<StorageClaim>& claims) {
  make_storages(dump, claims);
  const std::vector<uint32_t> order = by_address(dump);
  join_allocations(dump, order);
  count_own_bytes(dump, order);
}

}  // namespace tensorscope::analyzer
