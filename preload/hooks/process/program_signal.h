// SPDX-License-Identifier: Apache-2.0
// The dump signal, shared with the program: our handler is the one the kernel knows, the program's own action is kept
// here, runs after ours with the mask and flags the program asked for, and is what the program sees when it asks. The
// default action (the end of the process) is not taken while the profiler is active.
//
// Context: any, signal handlers included, but where it says otherwise. Our handler waits for nothing: it may have
// interrupted a thread in malloc, for whose lock a fork waits. Who changes or asks for the action takes a lock, with
// all signals blocked and for system calls alone, so a handler that does so never waits for its own thread, nor for
// long.
#pragma once

#include <signal.h>

namespace tensorscope::hooks {

// Installs our handler for `number`; 0: none. What the program had installed before is kept. Context: activation.
void start_signal(int number);

// True where a call about `number` in this process is ours to answer. False for every signal while the profiler is not
// active, and in a child that shares our memory until it calls exec (vfork).
bool owns_signal(int number);

// sigaction(2) for the signal that we own.
int program_sigaction(const struct sigaction* action, struct sigaction* old);

// signal(2) and its relatives, with the flags and mask that each of them stands for.
sighandler_t program_signal(sighandler_t handler, int flags, bool mask_itself);

// siginterrupt(3): `signal` of BSD heeds it for later calls too.
void program_siginterrupt(int number, bool interrupt);
bool interrupts(int number);

// True while the kernel's handler for the signal is ours: code that does its own system calls may have replaced it.
bool signal_is_ours();

// Around fork, on the forking thread: all signals are blocked, so that one that comes meanwhile is answered by the
// parent or by the child as a whole.
void hold_signals();
void release_signals();
void release_signals_in_child();

}  // namespace tensorscope::hooks
