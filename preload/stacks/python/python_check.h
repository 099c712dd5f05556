// SPDX-License-Identifier: Apache-2.0
// The self-check of Python stacks: one stack read raw and asked of the interpreter's public API, function by function
// and line by line.
//
// Context: with the GIL held. Leaves the error indicator as it was; creates no references that outlive the call.
#pragma once

#include <cstdint>

#include "stacks/python/python_interpreter.h"
#include "support/ids.h"

namespace tensorscope::stacks {

enum class Agreement : uint8_t { nothing_to_compare, yes, no };

// Context: hook, GIL not needed. The calling thread's frames; memory is read through the kernel, which answers for
// every address. Where the kernel refuses to answer at all, this check says yes.
Agreement frames_look_sound(const PythonInterpreter& interpreter);

// Whether what lies where a frame's first variable is kept is an object. `nothing_to_compare`: the variable has no
// value. Context: hook, GIL not needed; the frame belongs to the calling thread. Memory is read as above.
Agreement first_local_looks_sound(const PythonInterpreter& interpreter, const char* frame);

// Context: with the GIL held. Leaves the error indicator as it was; creates no references that outlive the call.
// The calling thread's present stack against `capture`'s.
Agreement compare_stack(const PythonInterpreter& interpreter, StackId (*capture)());

// The same inside a small program of our own (nested functions, a comprehension, a callback from C, a generator), for a
// thread that runs no Python at the moment.
Agreement compare_in_test_program(const PythonInterpreter& interpreter, StackId (*capture)());

}  // namespace tensorscope::stacks
