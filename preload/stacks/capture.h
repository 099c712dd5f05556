// SPDX-License-Identifier: Apache-2.0
// Captures the calling thread's native and Python stack as two trie leaves.
//
// Context: hook (no GIL, no malloc in the steady state, no lock but lock-free tries).
#pragma once

#include <cstdint>

#include "stacks/native/native_stack.h"  // start_native
#include "stacks/python/python_stack.h"  // start_python: tried again until there is an interpreter
#include "support/ids.h"
#include "support/stopped_by.h"

namespace tensorscope::stacks {

struct Stack {
  StackId native = 0;
  StackId python = 0;
  uint32_t* note = nullptr;  // stays with this pair on this thread, 0 at first; null: nothing stays
};

// This library's own frames are left out: the innermost native frame is the caller of the hooked function.
// `nbytes`: of the block that is allocated, 0 where nothing is. If Python runs and the block is smaller than
// TENSORSCOPE_NATIVE, there is no native part.
Stack capture(uint64_t nbytes, HookFrame hook = nullptr);
inline constexpr uint64_t kWithNative = UINT64_MAX;  // whatever its size

// Whether the Python stack is still the one of this thread's last capture(), which was `python`. Returns false also if
// that is not known.
bool python_is_still(StackId python);

// The same in two steps, for who may not need the native part: right after one another.
StackId capture_python_part();
Stack capture_native_part(StackId python, uint64_t nbytes);

// All of it, also while nothing is recorded: for a failure.
Stack capture_in_any_case();

// libtensorscope.stop() and start(). While stopped a capture is one word that says so (not_recorded_stack): tables and
// counters go on, so that a dump stays whole and what dies leaves it. Context: any but signal handlers. Lock-free.
void stop_capturing(StoppedBy by = StoppedBy::own_switch);
void start_capturing(StoppedBy by = StoppedBy::own_switch);

// For the coverage record.
struct NotRecorded {
  uint64_t times = 0;     // how often it was stopped
  uint64_t captures = 0;  // without a stack
  uint64_t ns = 0;        // how long in all
  bool now = false;
};
NotRecorded not_recorded();

void after_fork_in_child();

}  // namespace tensorscope::stacks
