// Keeps fork and the first phase of a dump apart: what phase 1 holds (the loader's lock inside dl_iterate_phdr, table
// locks, a half-written file) must not be copied into a child. Phase 2 is not covered: the forking thread may hold the
// GIL that phase 2 waits for.
//
// Context: collector (lock, unlock), before_fork and after_fork_* (the rest).
#pragma once

namespace tensorscope::snapshot {

void lock_fork_gate();
void unlock_fork_gate();

// Waits for the end of a phase 1 that is going on, ten seconds at most (a file system that hangs must not hang fork).
// True: the gate is held.
bool lock_fork_gate_for_fork();
void reset_fork_gate_in_child();

class ForkGateScope {
 public:
  ForkGateScope() { lock_fork_gate(); }
  ~ForkGateScope() { unlock_fork_gate(); }
  ForkGateScope(const ForkGateScope&) = delete;
  ForkGateScope& operator=(const ForkGateScope&) = delete;
};

}  // namespace tensorscope::snapshot
