// SPDX-License-Identifier: Apache-2.0
// Where the calling thread's stack lies. glibc's pthread_getattr_np reads /proc/self/maps for the main thread, through
// a number of the program's descriptor table; here the main thread's bounds need no file.
//
// Context: any but signal handlers; errno is left as it was.
#pragma once

#include <cstdint>

namespace tensorscope {

struct StackBounds {
  uint64_t low = 0, high = 0;  // addresses: [low, high) may be used; equal if they are not known
};

// Of the main thread's stack at most 120 MiB: the kernel leaves 128 MiB free below its beginning, whatever the limit
// was (arch/x86/mm/mmap.c, mmap_base).
StackBounds stack_of_this_thread();

}  // namespace tensorscope
