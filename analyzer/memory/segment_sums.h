// SPDX-License-Identifier: Apache-2.0
// What a device's segments add up to, by stream and pool, and in how many pieces the free memory in them lies.
//
// torch's caching allocator takes segments from the driver, allocates blocks in them, and keeps what is freed. A free
// block serves requests of its own pool and stream alone, and of its segment's class of sizes (up to 1 MiB or above);
// blocks of two segments never become one (c10/cuda/CUDACachingAllocator.cpp, get_free_block and try_merge_blocks).
// Memory can therefore be free and of no use to a request. Units: bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/device_memory.h"

namespace tensorscope::analyzer {

struct SegmentSums {
  uint64_t segments = 0, expandable = 0;          // how many, and how many of these can grow
  uint64_t reserved = 0;                          // = allocated + pending + free
  uint64_t allocated = 0, pending = 0, free = 0;  // in blocks in use, freed but awaited by a stream, and free
  uint64_t allocated_blocks = 0, pending_blocks = 0, free_blocks = 0;
  uint64_t rounding = 0;      // of `allocated`: nobody asked for it, as far as known
  uint64_t largest_free = 0;  // block
  // Of `free`: whole segments, and whole pages of expandable ones, of the common pool. empty_cache() gives them back to
  // the driver, and the allocator does so itself before it fails.
  uint64_t releasable = 0;

  // Free memory that lies between blocks which are not free: only what fits a piece of it can have it.
  uint64_t between() const { return free - releasable; }
  // The share of the free bytes that are not in the largest free block: 0 where all is one piece, or nothing is free.
  double fragmentation() const { return free == 0 ? 0 : 1 - double(largest_free) / double(free); }
};

// Segments whose free blocks serve the same requests.
struct SegmentGroup {
  uint64_t stream = 0, pool = 0, pool_user = 0;
  bool small = false;
  SegmentSums sums;
};

struct DeviceSegments {
  SegmentSums all;
  std::vector<SegmentGroup> groups;  // the one with the most reserved bytes first
};
DeviceSegments sum_segments(const DeviceMemory& memory);

// The blocks of a segment, without holes: what no block covers is a free one.
std::vector<SegmentBlock> covering_blocks(const DeviceMemory& memory, const Segment& segment);

}  // namespace tensorscope::analyzer
