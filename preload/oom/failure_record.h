// SPDX-License-Identifier: Apache-2.0
// What the calling thread's last requests for memory came to, as the hooks saw it: by the time an exception is thrown,
// the numbers that led to it are gone but for these.
//
// Context: hook, under a HookScope. Thread-local words: no lock, no allocation, nothing but stores.
#pragma once

#include <cstdint>

#include "dump/failure.h"
#include "support/ids.h"

namespace tensorscope::oom {

// c10::reportOutOfMemoryToProfiler: called by a device's allocator, with its lock held, just before it throws.
void allocator_reported(uint64_t nbytes, uint64_t allocated, uint64_t reserved, Device device);

// A call of the CUDA runtime or driver that one of torch's libraries made has answered "out of memory". `call` is a
// literal ("cudaHostAlloc"). Torch may free what it caches and try again, or throw: an exception of c10 that this
// thread throws before an allocation succeeds is an out-of-memory error.
void runtime_call_failed(dump::Kind kind, Device device, uint64_t nbytes, const char* call);

// An allocation of this thread succeeded: what failed before was made good.
extern constinit thread_local bool t_runtime_call_failed;
inline void allocation_succeeded() {
  if (__builtin_expect(t_runtime_call_failed, false)) t_runtime_call_failed = false;
}

// What is known of the failure that this thread is about to throw; forgotten thereby. `out_of_memory_type`: what it
// throws is c10::OutOfMemoryError; else a c10 exception, which is an out-of-memory error only where a call of the
// runtime failed. Returns false if it is none. `failure.device` is assumed if no call has named
// one.
bool take_failure(bool out_of_memory_type, dump::Failure& failure);

}  // namespace tensorscope::oom
