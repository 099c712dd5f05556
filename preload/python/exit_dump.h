// SPDX-License-Identifier: Apache-2.0
// The dump at the normal end of a Python program: made by a function that the interpreter's atexit module calls while
// the interpreter is still whole. It is registered when torch appears, so it runs after what the program registers
// later.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::python {

// Context: heap inspector. False: this program's atexit cannot be used; the coverage record says so.
bool register_exit_dump(const Gil& gil);

// What is registered with atexit; null: nothing. Only to be compared: the program may have unregistered it. Context:
// heap inspector.
const Object* exit_dump_function();

// Where names cannot be looked up, nothing is registered with `atexit`: the dumps say so. Context: collector.
void exit_dump_comes_late();

}  // namespace tensorscope::python
