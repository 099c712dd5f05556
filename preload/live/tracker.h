// SPDX-License-Identifier: Apache-2.0
// The one door between hooks and tables: a hook says what happened, the tracker adds serial, stack, thread and time
// and keeps the tables and counters exact.
//
// Context: a hook, under a HookScope, unless a function says otherwise; with the GIL held or not, perhaps inside the
// allocator's or the loader's lock. No malloc in the steady state, no blocking beyond one bounded spin lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/event_log.h"
#include "live/runtime_table.h"
#include "stacks/capture.h"
#include "support/ids.h"

namespace tensorscope::live {

// Events of a TensorImpl:
// - constructed: it exists. Idempotent for the newest tensor of the calling thread, since constructors delegate.
// - released: its last strong reference is gone. It gave up its storage, and only weak references keep the object.
// - destroyed: the object itself is gone. Comes without `released` if there were no weak references.
//
// `released` and `destroyed` must be called before the real release_resources() and destructor. Unknown addresses are
// ignored. `hook`: the frame of the hook that reports it; null: the hook has none at hand.
void tensor_constructed(const void* impl, stacks::HookFrame hook = nullptr);
// Stops tracking tensors for the rest of the process; used if destructors are not seen.
void disable_tensor_tracking();
bool tensor_tracking_is_disabled();
// Before a constructor that takes a storage over (`storage`: the c10::Storage, one word that holds the StorageImpl's
// address). Where it is the block that this thread allocated last, the tensor shares the allocation's site: one capture
// serves both.
void tensor_takes_storage(const void* impl, const void* const* storage);
void tensor_released(const void* impl);
void tensor_destroyed(const void* impl);
// Removes a TensorImpl that is no tensor to a user (torch's undefined tensor) from the table and the counters, as if
// it had never been there.
void untrack_tensor(const void* impl);

// c10::alloc_cpu / free_cpu. `freed` before the real call.
void cpu_allocated(const void* pointer, size_t nbytes, stacks::HookFrame hook = nullptr);
void cpu_freed(const void* pointer);

// c10::reportMemoryUsageToProfiler. `delta` > 0: allocated, < 0: freed. For the CPU, total_allocated == 0 and a pointer
// that is no live alloc_cpu block mean a mapped storage; anything else about the CPU is already known and ignored.
void memory_reported(const void* pointer, int64_t delta, uint64_t total_allocated, uint64_t total_reserved,
                     Device device);

// The CUDA runtime's allocation calls that succeeded. `freed` before the real call, whatever block it is.
void runtime_allocated(const RuntimeBlock& block);
void runtime_freed(const void* pointer);

// set_gradient_edge(tensor, edge): `node` is the autograd node that made `impl`; this thread's present stack is its
// forward stack. `node` is alive (its first word is read). Null is ignored.
void gradient_edge_set(const void* impl, const void* node);
void node_destroyed(const void* node);

// The function that says which autograd node this thread runs (torch::autograd::get_current_node, resolved by
// hooks/torch/current_node.cc); null while unknown. Returns the Node's address or null, and leaves its reference count
// as it was.
using CurrentNodeFunction = const void* (*)();
void set_current_node_function(CurrentNodeFunction function);
// Returns the address of the node that the calling thread runs; null if none runs or the function is not known yet.
const void* running_node_address();

struct CallContext {
  SiteId site;
  ThreadId thread;
  Serial node;  // of the autograd node that runs, 0: none
};
// Returns the calling thread's present site, number and node: what a failed allocation is recorded with.
CallContext call_context();
ThreadId calling_thread();

// Who watches growth: called after an allocation where more bytes of the device are live than DeviceTable's mark; null:
// nobody. Under a HookScope; where `may_wait` is false the device allocator's lock may be held.
struct AllocationAboveMark {
  Device device;
  uint64_t nbytes;  // of the allocation
  CallContext context;
  bool may_wait;
};
using GrowthFunction = void (*)(const AllocationAboveMark& allocation);
void set_growth_function(GrowthFunction function);

// What a tensor is, read while it is released, for the event log (recording/tensor_facts.h). At most kMaxFacts events,
// the first of kind tensor_released, without order, serial, time and thread. 0: not known. Context: hook.
inline constexpr size_t kMaxFacts = 4;
using FactsFunction = size_t (*)(const void* impl, Event* out);
void set_facts_function(FactsFunction function);

// A step of the program begins: for the event log.
void step_seen(uint32_t number, uint32_t pass, uint8_t mode);

// An allocation failed: for the event log.
void failure_seen(Device device, uint64_t nbytes);

// Called by activation before the first event. False: no memory; the profiler goes off.
bool start();

// Around fork: takes every table lock, so that the child's tables are whole, and gives them back. In the child, entries
// made so far are known as inherited by fork_serial(); tables and serials go on, totals and peaks begin with what is
// live.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();
Serial fork_serial();  // the newest at the fork that made this process, 0: none

}  // namespace tensorscope::live
