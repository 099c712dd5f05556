// Captures the calling thread's native and Python stack as two trie leaves.
//
// Context: hook (no GIL, no malloc in the steady state, no lock but lock-free tries).
#pragma once

#include "live/ids.h"
#include "stacks/native/native_stack.h"  // start_native
#include "stacks/python/python_stack.h"  // start_python: tried again until there is an interpreter

namespace tensorscope::stacks {

struct Stack {
  StackId native = 0;
  StackId python = 0;
};

// This library's own frames are left out: the innermost native frame is the caller of the hooked function.
// `hook_return_address` is __builtin_return_address(0) of the hook where known, else null.
Stack capture(const void* hook_return_address = nullptr);

// The same in two steps, for who may not need the native part.
StackId capture_python_part();
Stack capture_native_part(StackId python);

void after_fork_in_child();

}  // namespace tensorscope::stacks
