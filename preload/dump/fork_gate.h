// SPDX-License-Identifier: Apache-2.0
// Keeps fork and the first phase of a dump apart: what phase 1 holds (the loader's lock inside dl_iterate_phdr, table
// locks, a half-written file) must not be copied into a child. Phase 2 is not covered: the forking thread may hold the
// GIL that phase 2 waits for.
//
// Neither side waits without a limit. A file system that hangs must not hang fork. And between our prepare handler and
// the end of fork() other handlers of the program run, which may wait for a thread that waits for this dump.
//
// Context: collector (lock, unlock), before_fork and after_fork_in_parent (unlock, lock_for_fork). A forked child finds
// the gate open.
#pragma once

#include "support/enough_memory.h"

namespace tensorscope::dump {

inline constexpr unsigned kGatePatienceMs = 5000;

// False: a fork has been going on for kGatePatienceMs.
[[nodiscard]] bool lock_fork_gate();
void unlock_fork_gate();

// Waits for the end of a phase 1 that is going on, ten seconds at most. True: the gate is held.
[[nodiscard]] bool lock_fork_gate_for_fork();

class ForkGateScope final : public UndoneScope {
 public:
  ForkGateScope() : held_(lock_fork_gate()) {}
  ~ForkGateScope() { undo(); }
  void undo() override {
    if (held_) unlock_fork_gate();
    held_ = false;
  }
  explicit operator bool() const { return held_; }

 private:
  bool held_;
};

}  // namespace tensorscope::dump
