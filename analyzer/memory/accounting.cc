// SPDX-License-Identifier: Apache-2.0
#include "memory/accounting.h"

#include <algorithm>

#include "dump_generated.h"

namespace tensorscope::analyzer {

void UnknownMemory::add(const Tensor& tensor) {
  if (tensor.knows_memory()) return;
  (tensor.freed_during_dump() ? freed_during_dump : unread) += 1;
}

uint64_t DeviceSums::outside_bytes() const {
  uint64_t sum = 0;
  for (const auto& [kind, part] : outside) sum += part.bytes;
  return sum;
}

uint64_t DeviceSums::tensors() const {
  uint64_t sum = in_tensors.tensors + mapped.tensors + no_memory.tensors + unknown.tensors();
  for (const auto& [kind, part] : outside) sum += part.tensors;
  return sum;
}

Accounts::Accounts(const Dump& dump) {
  item_of_tensor_.assign(dump.tensors.size(), kNone);
  items_.reserve(dump.storages.size());
  std::vector<uint64_t> sizes;
  for (const Allocation& allocation : dump.allocations) sizes.push_back(allocation.nbytes);
  rules::AllocationShares shares(std::move(sizes));
  add_storages(dump, shares);
  add_rounding(shares);
  add_blocks(dump, shares);
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

// The oldest tensor of a storage speaks for it.
uint32_t Accounts::add_item(const Dump& dump, uint32_t index) {
  const Storage& storage = dump.storages[index];
  const uint32_t id = uint32_t(items_.size());
  Item& item = items_.emplace_back();
  item.storage = index;
  item.device = storage.device;
  item.bytes = storage.data_ptr == 0 ? 0 : storage.own_nbytes;
  for (uint32_t tensor : storage.tensors) {
    item_of_tensor_[tensor] = id;
    if (item.tensor == kNone || dump.tensors[tensor].serial < dump.tensors[item.tensor].serial) item.tensor = tensor;
  }
  return id;
}

void Accounts::add_allocated(const Dump& dump, uint32_t id, rules::AllocationShares& shares) {
  Item& item = items_[id];
  const Storage& storage = dump.storages[item.storage];
  const Allocation& allocation = dump.allocations[storage.allocation];
  item.allocation = storage.allocation;
  item.device = allocation.device;
  item.site = allocation.site;
  item.thread = allocation.thread;
  item.created_ns = allocation.created_ns;
  const uint64_t inside = shares.claim(storage.allocation, item.bytes, id);
  item.outside = item.bytes - inside;
  const bool mapped = allocation.kind == uint8_t(format::AllocationKind::mapped) || storage.kind == StorageKind::shared;
  MemorySum& part = mapped ? sums(item.device).mapped : sums(item.device).in_tensors;
  part.tensors += storage.tensors.size();
  part.storages += 1;
  part.bytes += inside;
  if (item.outside > 0) sums(item.device).outside[StorageKind::unknown].bytes += item.outside;
}

// Memory that no allocator of torch's gave: whoever made it known last is where it comes from.
void Accounts::add_outside(const Dump& dump, uint32_t id) {
  Item& item = items_[id];
  const Storage& storage = dump.storages[item.storage];
  const auto made_with = [&](const auto& row) {
    item.site = row.site;
    item.thread = row.thread;
    item.created_ns = row.created_ns;
  };
  if (storage.runtime_block != kNone) {
    made_with(dump.runtime_blocks[storage.runtime_block]);
  } else if (item.tensor != kNone) {
    made_with(dump.tensors[item.tensor]);
  }
  item.outside = item.bytes;
  const bool memory = storage.data_ptr != 0 && storage.nbytes > 0;
  MemorySum& part = memory ? sums(item.device).outside[storage.kind] : sums(item.device).no_memory;
  part.tensors += storage.tensors.size();
  part.storages += 1;
  part.bytes += item.bytes;
}

void Accounts::add_storages(const Dump& dump, rules::AllocationShares& shares) {
  for (uint32_t index = 0; index < dump.storages.size(); ++index) {
    const uint32_t id = add_item(dump, index);
    if (dump.storages[index].allocation != kNone) {
      add_allocated(dump, id, shares);
    } else {
      add_outside(dump, id);
    }
  }
}

void Accounts::add_rounding(const rules::AllocationShares& shares) {
  for (uint32_t i = 0; i < shares.size(); ++i) {
    if (shares.first_item(i) == shares.kNoItem || shares.left(i) == 0) continue;
    Item& item = items_[shares.first_item(i)];
    item.rounding = shares.left(i);
    item.bytes += shares.left(i);
    MemorySum& part = sums(item.device).rounding;
    part.bytes += shares.left(i);
    part.blocks += 1;
  }
}

void Accounts::add_blocks(const Dump& dump, const rules::AllocationShares& shares) {
  for (uint32_t index = 0; index < dump.allocations.size(); ++index) {
    if (shares.first_item(index) != shares.kNoItem) continue;
    const Allocation& allocation = dump.allocations[index];
    Item& item = items_.emplace_back();
    item.allocation = index;
    item.bytes = allocation.nbytes;
    item.device = allocation.device;
    item.site = allocation.site;
    item.thread = allocation.thread;
    item.created_ns = allocation.created_ns;
    MemorySum& part = sums(item.device).no_tensor;
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
    DeviceSums& device = sums(item.device);
    if (tensor.knows_memory()) device.no_memory.tensors += 1;
    device.unknown.add(tensor);
    unknown_.add(tensor);
  }
}

uint64_t Accounts::total_bytes() const {
  uint64_t sum = 0;
  for (const Item& item : items_) sum += item.bytes;
  return sum;
}

}  // namespace tensorscope::analyzer
