// SPDX-License-Identifier: Apache-2.0
// Builds the storages of a dump from what its tensors say about theirs, and joins them with the allocations.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

// What one tensor row says about its storage; parallel to Dump::tensors. base 0: it has no memory (meta, fake, sparse,
// released, empty).
struct StorageClaim {
  uint64_t base = 0, nbytes = 0;
};

// Fills Dump::storages, Tensor::storage, Storage::allocation, Allocation::storages, Storage::runtime_block and
// RuntimeBlock::storages.
// A storage is one (device, data pointer). Its size is the largest that one of its tensors reports (a resize may happen
// between two reads). It belongs to the allocation that contains its data pointer: a memory-mapped file is one
// allocation with many storages in it.
void build_storages(Dump& dump, const std::vector<StorageClaim>& claims);

}  // namespace tensorscope::analyzer
