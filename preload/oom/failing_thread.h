// SPDX-License-Identifier: Apache-2.0
// The moment of failure: what a thread does that is about to throw an out-of-memory error. Nothing has been unwound,
// the failed operation's temporaries are alive, and so are the Python frames.
//
// Context: hook, under a HookScope, no lock of the profiler held, the GIL perhaps held, a lock of torch's allocator
// perhaps held (cudaMallocAsync's backend throws under one). errno is left as it was. Returns once the dump is written,
// or at once where the limits allow none (failure_limits.h).
#pragma once

#include <cstddef>

#include "dump/failure.h"
#include "support/ids.h"

namespace tensorscope::oom {

// c10's CPU allocator got no memory (c10::ProfiledCPUMemoryReporter::OutOfMemory).
void host_allocation_failed(size_t nbytes);

// torch could make a file in /dev/shm no larger: a DataLoader's worker, torch.multiprocessing.
void shared_memory_failed();

// torch throws an exception of c10; `out_of_memory_type`: a c10::OutOfMemoryError. `device`: the one that the thread
// uses, assumed if no call has named another.
void torch_throws(bool out_of_memory_type, Device device);

// Writes a dump of the failure and waits for its end (collector/collector.h, write_failure). False: there is none.
using WriteFailure = bool (*)(const dump::Failure& failure);

// Context: activation, the forked child.
void start(WriteFailure write);
void after_fork_in_child();

}  // namespace tensorscope::oom
