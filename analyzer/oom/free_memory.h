// SPDX-License-Identifier: Apache-2.0
// What torch's caching allocator keeps of a device and does not use: how much of it, in which pieces, and why a request
// could not be served from it.
//
// The rules are those of c10/cuda/CUDACachingAllocator.cpp (torch 2.2 to 2.14): blocks of up to 1 MiB come from
// segments of 2 MiB (the small pool), larger ones from segments of 20 MiB or, from 10 MiB on, of the request's size
// rounded up to 2 MiB; a free block serves its own stream and its own private pool alone. Units: bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/device_memory.h"
#include "dump/dump.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

// Free pieces of one pool and stream.
struct FreePart {
  bool small = false;
  uint64_t stream = 0, pool = 0, pool_user = 0;
  uint64_t bytes = 0, pieces = 0, largest = 0;
  bool private_pool() const { return pool != 0 || pool_user != 0; }
};

struct FreeMemory {
  bool known = false;          // the segments are
  bool streams_known = false;  // and to which stream and pool each belongs
  bool expandable = false;     // expandable segments are in use, or switched on
  bool native = false;         // torch's own caching allocator is in use
  uint64_t reserved = 0, allocated = 0;
  uint64_t pending = 0;         // freed, but waits for a stream
  uint64_t bytes = 0;           // of all parts
  uint64_t common = 0;          // of those outside private pools
  size_t streams = 0;           // of segments in common pools
  uint64_t returnable = 0;      // what empty_cache() would give back: whole segments, whole pages of expandable ones
  std::vector<FreePart> parts;  // largest first

  uint64_t largest() const;
};

FreeMemory free_memory(const DeviceMemory* memory);

// Whether a piece of this part could serve a request of this size if stream and pool were right.
inline bool of_size_class(const FreePart& part, uint64_t request) { return part.small == (request <= (1u << 20)); }

// What the allocator would ask the driver for to serve a request.
uint64_t segment_for(uint64_t request, const FreeMemory& cached);

// With expandable segments: the most that requests of the size class of this one could still get from the common pools.
// The driver gives pages then (20 MiB, 2 MiB for the small pool), and what is in use takes at least its sum rounded up
// to pages for each stream and pool. Upper bound: what is in use may be scattered over more pages.
uint64_t usable_with_pages(const DeviceMemory& memory, uint64_t request);

// Whether a request fits once some blocks are freed: free pieces that touch become one, whole segments go back to the
// driver. Segments of a private pool do not: they stay with the CUDA graph or MemPool that owns them. `yes` only where
// that follows from the segments themselves, and `no` where they leave no doubt.
class FitTest {
 public:
  FitTest(const Dump& dump, const DeviceMemory* memory, const FreeMemory& cached, uint64_t request);

  bool possible() const { return request_ != 0 && memory_ != nullptr && memory_->driver_total != 0; }
  // The driver had enough and the request failed: something limits this process, and what the driver has free is not
  // for it. By how much it is under that limit is not known.
  bool limited() const { return limited_; }
  // It would not fit into the empty device either.
  bool too_large() const { return possible() && needed_ > memory_->driver_total; }
  // `allocations`: indexes into Dump::allocations; `bytes`: of them.
  Fits after(const std::vector<uint32_t>& allocations, uint64_t bytes) const;
  // Where `bytes` more come back to the driver.
  Fits with_driver(uint64_t bytes) const;
  // Where that may come in pieces: never `yes`.
  Fits at_most(uint64_t bytes) const;
  uint64_t needed() const { return needed_; }
  // The same for another request, at the moment at which this one failed.
  FitTest of_request(uint64_t request) const;
  // What is missing still once these are there, 0: nothing.
  uint64_t missing(uint64_t bytes) const;

 private:
  uint64_t headroom(uint64_t bytes) const;
  Fits enough(uint64_t bytes, Fits then) const;

  const Dump& dump_;
  const DeviceMemory* memory_;
  const FreeMemory& cached_;
  uint64_t request_, needed_ = 0;
  bool limited_ = false;
};

}  // namespace tensorscope::analyzer::oom
