// SPDX-License-Identifier: Apache-2.0
// Threads of the profiler's own that have just ended. pthread_join() returns when the kernel has cleared a word of
// memory, and for a moment after that the thread still counts: in /proc/self/stat, where CPython looks when it forks,
// and for unshare(). (Linux 6.18: 146 of 100,000 joined threads still counted, none once its clock was gone.)
#pragma once

#include <sys/types.h>

namespace tensorscope {

// The thread does nothing more but end. Context: that thread, or whoever waited for its end.
void note_thread_end(pid_t thread);

// Returns when none of those counts any more, at the latest a second after its end. Context: fork handler, or any
// thread that is about to make a call that counts threads.
void wait_until_ended_threads_are_gone();

}  // namespace tensorscope
