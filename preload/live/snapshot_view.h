// SPDX-License-Identifier: Apache-2.0
// A consistent copy of all tables at one instant, and safe looks at tensors that are still alive afterwards.
//
// Context: collector. take() holds every table lock while it copies (a few ns an entry); nothing is allocated under
// the locks. Everything else works on the copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/function_ref.h"
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

struct SiteCounters {
  StackId native;
  StackId python;
  uint64_t tensors_live, tensors_total;
  uint64_t allocations_live, allocations_total;
  uint64_t bytes_live, bytes_total, bytes_peak;
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

template <typename T>
struct Rows {
  const T* data = nullptr;
  size_t size = 0;
  const T* begin() const { return data; }
  const T* end() const { return data + size; }
  const T& operator[](size_t i) const { return data[i]; }
};

// What a copy made now would be of.
struct TableSizes {
  size_t tensors = 0, allocations = 0, nodes = 0;
  uint64_t copy_bytes = 0;
};
TableSizes table_sizes();

class SnapshotView {
 public:
  SnapshotView() = default;
  ~SnapshotView();  // gives the copy's memory back to the system
  SnapshotView(const SnapshotView&) = delete;
  SnapshotView& operator=(const SnapshotView&) = delete;

  // False: no memory for the copy, or a lock could not be had; the view is empty.
  bool take();

  Rows<TensorEntry> tensors;          // in serial order
  Rows<AllocationEntry> allocations;  // in serial order
  Rows<RuntimeEntry> runtime_blocks;  // in serial order
  Rows<NodeEntry> nodes;
  Rows<SiteCounters> sites;   // index = SiteId; [0] is the sentinel
  Rows<ThreadEntry> threads;  // index = ThreadId; [0] is the sentinel
  Rows<DeviceTotals> devices;
  uint64_t tensors_total = 0;
  uint64_t taken_ns = 0;
  uint64_t stopped_ns = 0;  // how long the locks were held
  Serial serial = 0;        // the newest at that instant
  Serial fork_serial = 0;   // the newest at the fork that made this process, 0: none

 private:
  void* memory_ = nullptr;
  size_t memory_size_ = 0;
};

// Calls look(index) for each entry of tensors[begin, end) that is still the same live tensor, while its
// destructor is held up: the TensorImpl's base is constructed during the call, and its `released` is what the entry
// says. One shard's lock is held, for one call at a time. `look` must not allocate tensors, block or throw. Entries
// that died or were released meanwhile are not called; none is called while recording is off, since nothing holds
// destructors up then.
using Look = FunctionRef<void(size_t index)>;
void look_at_live(const Rows<TensorEntry>& tensors, size_t begin, size_t end, Look look);

// Serial of the autograd node at this address as the table has it now, 0: none.
Serial node_serial_now(const void* node);
ThreadId node_thread_now(const void* node);  // which made it; 0: not known
// Calls `look` while the node at this address is in the table; where torch reports when nodes die
// (NodeEntry::alive), its base class is not destroyed meanwhile. `look` must not block or throw. False: not called.
bool look_at_node(const void* node, FunctionRef<void()> look);

// No tensor, and no memory that could be a tensor's. Context: any but hooks and signal handlers.
bool nothing_is_alive();

// Memory that the profiler has taken from the system (support/pages.h), in bytes: tables, tries, copies in progress.
uint64_t profiler_memory();

}  // namespace tensorscope::live
