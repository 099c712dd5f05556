// SPDX-License-Identifier: Apache-2.0
// Who owns which bytes: every live byte of a dump belongs to exactly one item, so that sums over items equal the
// totals.
//
// An item is a storage, or an allocation that no storage lies in ("in no tensor"), or a tensor without any storage
// (0 bytes). A storage's bytes belong to the place of its allocation, or of its block of the CUDA runtime, or, where
// neither was recorded, to the place of its oldest live tensor; views and aliases own nothing. The unused end of an
// allocation ("rounding") goes with its first storage. Units: bytes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "dump/dump.h"
#include "tensorscope/rules/allocation_shares.h"

namespace tensorscope::analyzer {

struct Item {
  uint32_t storage = kNone;
  uint32_t allocation = kNone;
  uint32_t tensor = kNone;  // the oldest live tensor of the storage: stands for its dtype, shape, class
  uint64_t bytes = 0;       // what the storage counts, plus rounding
  uint64_t rounding = 0;
  uint64_t outside = 0;  // the part of `bytes` that no recorded allocation holds
  uint32_t site = 0;
  uint32_t thread = 0;
  uint64_t created_ns = 0;
  Device device;
};

struct MemorySum {
  uint64_t tensors = 0, storages = 0, blocks = 0, bytes = 0;
};

// How many tensors have memory that is not known: blocks that no tensor seems to use may be theirs.
struct UnknownMemory {
  uint64_t unread = 0, freed_during_dump = 0;

  // Counts the tensor if its memory is not known.
  void add(const Tensor& tensor);
  uint64_t tensors() const { return unread + freed_during_dump; }
};

// What a device's live bytes consist of. in_tensors + mapped + no_tensor + rounding = the sum of live allocations.
struct DeviceSums {
  Device device;
  MemorySum in_tensors;
  MemorySum mapped;     // memory-mapped files and shared memory that the allocator knows of
  MemorySum no_tensor;  // allocations that no live tensor refers to
  MemorySum rounding;
  // Storages in no recorded allocation: numpy, DLPack, shared, pinned, other callers of the CUDA runtime.
  std::map<StorageKind, MemorySum> outside;
  MemorySum no_memory;    // tensors without memory: meta, fake, sparse and other wrappers, empty ones
  UnknownMemory unknown;  // tensors of which the dump does not know whether they have memory, and which

  uint64_t allocator_bytes() const { return in_tensors.bytes + mapped.bytes + no_tensor.bytes + rounding.bytes; }
  uint64_t outside_bytes() const;
  uint64_t tensors() const;  // all of the device
};

class Accounts {
 public:
  explicit Accounts(const Dump& dump);

  const std::vector<Item>& items() const { return items_; }
  // Every tensor has an item; several may share one.
  uint32_t item_of_tensor(uint32_t tensor) const { return item_of_tensor_[tensor]; }
  // By device.
  const std::vector<DeviceSums>& devices() const { return devices_; }
  uint64_t total_bytes() const;  // of all items
  const UnknownMemory& unknown_memory() const { return unknown_; }

 private:
  void add_storages(const Dump& dump, rules::AllocationShares& shares);
  uint32_t add_item(const Dump& dump, uint32_t storage);
  void add_allocated(const Dump& dump, uint32_t item, rules::AllocationShares& shares);
  void add_outside(const Dump& dump, uint32_t item);
  void add_rounding(const rules::AllocationShares& shares);
  void add_blocks(const Dump& dump, const rules::AllocationShares& shares);
  void add_bare_tensors(const Dump& dump);
  DeviceSums& sums(Device device);

  std::vector<Item> items_;
  std::vector<uint32_t> item_of_tensor_;
  std::vector<DeviceSums> devices_;
  UnknownMemory unknown_;
};

}  // namespace tensorscope::analyzer
