// SPDX-License-Identifier: Apache-2.0
// The collector's thread and CPython's warning about fork in a process with threads (3.12 and newer).
//
// Context: the forking thread, in pthread_atfork handlers.
#pragma once

namespace tensorscope::collector {

// True where this fork would warn because of the profiler's threads: a Python that warns, and this thread has the GIL.
// Threads of the program's are not counted: that would take a file of /proc on a thread of the program's.
bool fork_would_warn();

// Has `start` called on the main thread once the Python function call that forks has returned. False: that cannot be
// had.
bool call_after_fork_returned(void (*start)());

}  // namespace tensorscope::collector
