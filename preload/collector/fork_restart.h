// The collector's thread and CPython's warning about fork in a process with threads (3.12 and newer).
//
// Context: the forking thread, in pthread_atfork handlers.
#pragma once

namespace tensorscope::collector {

// True where this fork would warn only because of the collector: a Python that warns, this thread has the GIL, and
// the process has two threads.
bool fork_would_warn();

// Has `start` called on the main thread once the Python function call that forks has returned. False: that cannot be
// had.
bool call_after_fork_returned(void (*start)());

}  // namespace tensorscope::collector
