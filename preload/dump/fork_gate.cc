// SPDX-License-Identifier: Apache-2.0
#include "dump/fork_gate.h"

#include "support/locks/mutex.h"

namespace tensorscope::dump {

namespace {
constexpr uint64_t kForkPatienceNs = 10'000'000'000;
constinit Mutex g_gate;
}  // namespace

// Held from one call to the other.
bool lock_fork_gate() { return g_gate.lock_within(uint64_t{kGatePatienceMs} * 1'000'000); }
void unlock_fork_gate() NO_THREAD_SAFETY_ANALYSIS { g_gate.unlock(); }
bool lock_fork_gate_for_fork() { return g_gate.lock_within(kForkPatienceNs); }

}  // namespace tensorscope::dump
