// SPDX-License-Identifier: Apache-2.0
// Waiting for a moment, without a lock or a futex: spins, then yields, then sleeps in short steps.
//
// Context: hook, collector, fork handlers; not signal handlers. errno is left as it was. The waiting time is the sum of
// this thread's own steps, each counted for at most 20 ms, so that a stopped or suspended process does not use the
// bound up. Works where the awaited thread is preempted: on one processor, and below a real-time waiter.
#pragma once

#include <cstdint>

#include "support/function_ref.h"

namespace tensorscope {

// Until `condition` says yes: true. False: it has not within `patience_ns`.
bool spin_then_sleep_until(uint64_t patience_ns, FunctionRef<bool()> condition);

}  // namespace tensorscope
