// SPDX-License-Identifier: Apache-2.0
// Filters of system calls (seccomp). A process that begins under one, in a container, can do what programs do there. A
// filter that the program puts before itself later is for what the program does: a call that only the profiler makes
// may end the process. So the profiler checks before it makes one that programs seldom make.
//
// A filter in addition to one that was there from the beginning is seen if it is put by prctl() or syscall()
// (hooks/process/seccomp.cc): the kernel shows only that there is one. Threads that a thread with such a filter makes
// have it as well, and are not known.
//
// Context: any. One system call (prctl) each.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

namespace tensorscope {

// Called when the library is loaded.
void remember_call_filter();
// Called at activation: torch has just been opened, so files may be opened under the filter that there is.
void remember_filter_of_files();

// The calling thread has put a filter before itself, or before all threads.
void filter_was_put(bool before_all_threads);

// Whether the calling thread has a filter that the process did not begin with: calls that programs seldom make are left
// out.
bool calls_are_filtered();
// Whether it came after activation: no file is opened.
bool files_are_filtered();

// Copies this process's own memory without a fault where something is not there (process_vm_readv(2)). -1 with errno
// EPERM: a filter of the program's forbids the attempt.
ssize_t read_own_memory(const iovec& to, const iovec* from, size_t count);

}  // namespace tensorscope
