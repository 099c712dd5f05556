// SPDX-License-Identifier: Apache-2.0
// A consistent copy of all tables at one instant, and safe looks at tensors that are still alive afterwards.
//
// Context: collector. take() holds every table lock while it copies (a few ns an entry); nothing is allocated under
// the locks. Everything else works on the copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/entries.h"
#include "live/history.h"
#include "live/peak.h"
#include "support/function_ref.h"
#include "support/ids.h"

namespace tensorscope::live {

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
  HistoryCopy history;  // the last point is this instant
  KeptPeak peak;        // agrees with SiteCounters::bytes_kept
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
