// SPDX-License-Identifier: Apache-2.0
// The dump at the normal end of a Python program: made by a function that the interpreter's atexit module calls while
// the interpreter is still whole. It is registered when torch appears, so it runs after what the program registers
// later.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::python {

// True for the first caller in this process where the options want an exit dump here: who gets it writes that dump.
// Python's atexit asks first; the hooks of main and exit ask after it. Any thread, any context but signal.
bool claim_exit_dump();

// Writes the dump at the end of a Python program and waits for it. Context: activation.
using WriteExitDump = void (*)();
void set_exit_dump(WriteExitDump write);

// Context: heap inspector. False: this program's atexit cannot be used; the coverage record says so.
bool register_exit_dump(const Gil& gil);

// What is registered with atexit; null: nothing. Only to be compared: the program may have unregistered it. Context:
// heap inspector.
const Object* exit_dump_function();

// Where names cannot be looked up, nothing is registered with `atexit`: the dumps say so. Context: collector.
void exit_dump_comes_late();

}  // namespace tensorscope::python
