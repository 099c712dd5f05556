// SPDX-License-Identifier: Apache-2.0
// Rows of the tables as a copy of them has them (live/snapshot_view.h).
//
// Context: collector; under the locks of the tables, which write them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/ids.h"

namespace tensorscope::live {

struct TensorEntry {
  const void* impl;
  Serial serial;
  uint64_t created_ns;
  SiteId site;
  uint32_t thread : 24;
  uint32_t released : 1;
};

struct AllocationEntry {
  const void* pointer;
  uint64_t nbytes;
  Serial serial;
  uint64_t created_ns;
  Serial node;  // autograd node in whose backward it was made, 0: none
  SiteId site;
  uint32_t thread : 24;
  uint32_t kind : 8;  // format::AllocationKind
  Device device;
};

// A block of the CUDA runtime (live/runtime_table.h).
struct RuntimeEntry {
  const void* pointer;
  uint64_t nbytes;
  Serial serial;
  uint64_t created_ns;
  SiteId site;
  uint32_t thread : 24;
  uint32_t kind : 7;  // format::RuntimeKind
  uint32_t by_torch : 1;
  Device device;
};

struct NodeEntry {
  const void* node;
  const void* vtable;  // first word of the object when it was seen; vtable[-1] is its type_info, also after its death
  Serial serial;
  uint64_t created_ns;
  SiteId site;
  SiteId ran_site;  // of the last allocation made while its backward ran, 0: none was seen
  uint32_t thread : 24;
  uint32_t alive : 1;    // known to be
  uint32_t removed : 1;  // known to be: dead, or its address is another's; both 0 where nobody reports it
};

// How memory that was alive at the peak that was kept (live/peak.h) was freed since.
enum class PeakEnd : uint8_t {
  before_backward,  // in its own step; no backward pass has begun since it was made
  in_backward,      // by a thread that was in a backward pass; made before it
  later_step,       // after its own step, by another thread than that
  of_backward,      // made in a backward pass, and freed by a thread that was in the same
  after_backward,   // made in a backward pass, and not freed in it
  unknown
};
inline constexpr size_t kPeakEnds = size_t(PeakEnd::unknown);

struct SiteCounters {
  StackId native;
  StackId python;
  uint64_t tensors_live, tensors_total;
  uint64_t allocations_live, allocations_total;
  uint64_t bytes_live, bytes_total, bytes_peak;
  uint64_t bytes_kept, allocations_kept;  // live at the peak that was kept (live/peak.h)
  uint64_t kept_gone[kPeakEnds];          // bytes of these that are freed, by PeakEnd
  bool has_nodes;                         // an autograd node was made for a tensor of this site
};

struct ThreadEntry {
  uint32_t tid;
  char name[16];  // as of the thread's first event
};

struct DeviceTotals {
  Device device;
  uint64_t live_bytes, peak_bytes, live_count, total_count, total_bytes;
  uint64_t allocator_allocated, allocator_reserved, allocator_reserved_peak;
  bool used_here;  // by this process, not only by the one it was forked from
};

}  // namespace tensorscope::live
