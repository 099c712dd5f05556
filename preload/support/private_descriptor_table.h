// SPDX-License-Identifier: Apache-2.0
// Descriptor tables of our own. The table that the program's threads share is the program's: a file of the profiler
// there could be read, written or closed by the program, and would take a number that the program expects to get.
//
// The collector thread has a table of its own for as long as it runs (take_private_descriptors), and so has every
// thread that it makes. What has to be read on another thread is read by the collector (with_private_descriptors), or,
// if the collector is busy or is not there yet, on a thread that exists for one call. Where the system gives no such
// table (valgrind, an emulator, a filter of system calls) files are opened in the program's table, with numbers that
// are moved out of the way.
//
// A table of our own holds none of the program's descriptors: a copy would keep files and pipes open that the program
// has closed. What needs the program's descriptors (standard error, the driver of a device, the program's Python code)
// runs on the program's side (programs_side.h).
//
// Context: any but signal handlers, as each function says.
#pragma once

#include "support/function_ref.h"

namespace tensorscope {

// Gives the calling thread, and the threads that it will make, an empty table. False: the system gives none. Context: a
// thread of the profiler's own, while another thread uses the table that it leaves.
bool take_private_descriptors();

// Whether the calling thread's table is not the program's.
bool has_private_descriptors();
// For a thread that was made by one with a table of its own.
void inherit_private_descriptors();
// For a thread that was made within run_with_private_descriptors(): it keeps that table. What was copied into it is
// closed.
void adopt_copied_descriptors();

// Calls the function on a thread that exists for this call, with a table of its own, and waits. What is opened there
// and left open is closed at its end. All signals are blocked there. `function` shares the calling thread's
// thread-local variables, as after vfork(); errno is left as the function leaves it. It allocates nothing with a malloc
// that is not libc's: some identify a thread by what this one lacks (restartable sequences).
// False: there is no such thread (a limit, a filter, valgrind), and `function` was not called.
bool run_with_private_descriptors(FunctionRef<void()> function);

// Calls the function where what it opens takes no number of the program's, if there is a way; else here. Not at all
// where the program has put a filter of system calls before this thread and the collector cannot help: the function
// sets its results to what they are if nothing can be read, beforehand. It is short, closes what it opens, allocates
// nothing, and waits for no lock.
void with_private_descriptors(FunctionRef<void()> function);

// Who reads files for other threads: the collector. `serve` returns false if it could not at once, and then `function`
// was not called and will not be.
using ServeDescriptors = bool (*)(FunctionRef<void()> function);
void set_descriptor_server(ServeDescriptors serve);

// A descriptor that stays open for a while: if it had to be opened in the program's table, a number that programs
// rarely use. Returns `number` itself where that is not needed or not possible.
int move_to_high_number(int number);

}  // namespace tensorscope
