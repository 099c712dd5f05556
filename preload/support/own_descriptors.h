// Runs a function where the descriptors that it opens are its own: on a thread with a descriptor table of its own.
//
// For libraries that open descriptors for themselves and keep them. What they open is closed when the function has
// returned, no number of the program's table is ever taken, and nothing the program does to its table meets theirs.
//
// Context: activation. One thread is made and waited for; all signals are blocked there. `function` shares the calling
// thread's thread-local variables, as after vfork(). It must not open what has to be usable later.
#pragma once

namespace tensorscope {

// False: the system gave no such thread (a limit, a seccomp filter), or valgrind is there; `function` was not called.
bool run_with_own_descriptors(void (*function)(void* argument), void* argument);

}  // namespace tensorscope
