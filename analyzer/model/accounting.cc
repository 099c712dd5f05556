#include "model/accounting.h"

#include <algorithm>

#include "dump_generated.h"

namespace tensorscope::model {

uint64_t DeviceSums::outside_bytes() const {
  uint64_t sum = 0;
  for (const auto& [kind, part] : outside) sum += part.bytes;
  return sum;
}

uint64_t DeviceSums::tensors() const {
  uint64_t sum = in_tensors.tensors + mapped.tensors + no_memory.tensors;
  for (const auto& [kind, part] : outside) sum += part.tensors;
  return sum;
}

uint64_t DeviceSums::storages() const {
  uint64_t sum = in_tensors.storages + mapped.storages;
  for (const auto& [kind, part] : outside) sum += part.storages;
  return sum;
}

Accounts::Accounts(const Dump& dump) {
  item_of_tensor_.assign(dump.tensors.size(), kNone);
  items_.reserve(dump.storages.size());
  add_storages(dump);
  add_blocks(dump);
  add_bare_tensors(dump);
  std::sort(devices_.begin(), devices_.end(),
            [](const DeviceSums& a, const DeviceSums& b) { return a.device < b.device; });
}

DeviceSums& Accounts::sums(Device device) {
  for (DeviceSums& entry : devices_) {
    if (entry.device == device) return entry;
  }
  devices_.emplace_back().device = device;
  return devices_.back();
}

void Accounts::add_storages(const Dump& dump) {
  std::vector<uint64_t> room(dump.allocations.size());          // of each allocation, what no storage has claimed yet
  std::vector<uint32_t> first(dump.allocations.size(), kNone);  // item of the first storage in it
  for (size_t i = 0; i < room.size(); ++i) room[i] = dump.allocations[i].nbytes;

  for (uint32_t index = 0; index < dump.storages.size(); ++index) {
    const Storage& storage = dump.storages[index];
    uint32_t id = uint32_t(items_.size());
    Item& item = items_.emplace_back();
    item.storage = index;
    item.device = storage.device;
    for (uint32_t tensor : storage.tensors) {
      item_of_tensor_[tensor] = id;
      if (item.tensor == kNone || dump.tensors[tensor].serial < dump.tensors[item.tensor].serial) item.tensor = tensor;
    }
    uint64_t own = storage.data_ptr == 0 ? 0 : storage.own_nbytes;
    if (storage.allocation != kNone) {
      const Allocation& allocation = dump.allocations[storage.allocation];
      item.allocation = storage.allocation;
      item.device = allocation.device;
      item.site = allocation.site;
      item.thread = allocation.thread;
      item.created_ns = allocation.created_ns;
      uint64_t inside = std::min(own, room[storage.allocation]);
      room[storage.allocation] -= inside;
      if (first[storage.allocation] == kNone) first[storage.allocation] = id;
      item.outside = own - inside;
      bool mapped = allocation.kind == uint8_t(dump::AllocationKind::mapped) || storage.kind == StorageKind::shared;
      Part& part = mapped ? sums(item.device).mapped : sums(item.device).in_tensors;
      part.tensors += storage.tensors.size();
      part.storages += 1;
      part.bytes += inside;
      if (item.outside > 0) sums(item.device).outside[StorageKind::unknown].bytes += item.outside;
    } else {
      if (storage.runtime_block != kNone) {
        const RuntimeBlock& block = dump.runtime_blocks[storage.runtime_block];
        item.site = block.site;
        item.thread = block.thread;
        item.created_ns = block.created_ns;
      } else if (item.tensor != kNone) {
        const Tensor& tensor = dump.tensors[item.tensor];
        item.site = tensor.site;
        item.thread = tensor.thread;
        item.created_ns = tensor.created_ns;
      }
      item.outside = own;
      bool memory = storage.data_ptr != 0 && storage.nbytes > 0;
      Part& part = memory ? sums(item.device).outside[storage.kind] : sums(item.device).no_memory;
      part.tensors += storage.tensors.size();
      part.storages += 1;
      part.bytes += own;
    }
    item.bytes = own;
  }

  for (size_t i = 0; i < room.size(); ++i) {
    if (first[i] == kNone || room[i] == 0) continue;
    Item& item = items_[first[i]];
    item.rounding = room[i];
    item.bytes += room[i];
    Part& part = sums(item.device).rounding;
    part.bytes += room[i];
    part.blocks += 1;
  }
}

void Accounts::add_blocks(const Dump& dump) {
  std::vector<bool> used(dump.allocations.size());
  for (const Storage& storage : dump.storages) {
    if (storage.allocation != kNone) used[storage.allocation] = true;
  }
  for (uint32_t index = 0; index < dump.allocations.size(); ++index) {
    if (used[index]) continue;
    const Allocation& allocation = dump.allocations[index];
    Item& item = items_.emplace_back();
    item.allocation = index;
    item.bytes = allocation.nbytes;
    item.device = allocation.device;
    item.site = allocation.site;
    item.thread = allocation.thread;
    item.created_ns = allocation.created_ns;
    Part& part = sums(item.device).no_tensor;
    part.blocks += 1;
    part.bytes += allocation.nbytes;
  }
}

void Accounts::add_bare_tensors(const Dump& dump) {
  for (uint32_t index = 0; index < dump.tensors.size(); ++index) {
    if (item_of_tensor_[index] != kNone) continue;
    const Tensor& tensor = dump.tensors[index];
    item_of_tensor_[index] = uint32_t(items_.size());
    Item& item = items_.emplace_back();
    item.tensor = index;
    item.device = tensor.device;
    item.site = tensor.site;
    item.thread = tensor.thread;
    item.created_ns = tensor.created_ns;
    sums(item.device).no_memory.tensors += 1;
  }
}

uint64_t Accounts::total_bytes() const {
  uint64_t sum = 0;
  for (const Item& item : items_) sum += item.bytes;
  return sum;
}

}  // namespace tensorscope::model
