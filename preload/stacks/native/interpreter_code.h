// SPDX-License-Identifier: Apache-2.0
// Where the code of the Python interpreter is, and what stands between it and the beginning of a thread.
//
// Context: any; made in hooks and at activation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/code_range.h"

namespace tensorscope::stacks {

struct InterpreterCode {
  CodeRange evaluation;  // _PyEval_EvalFrameDefault
  // The interpreter's own object, libc and libpthread, this library (which is around main()), and the program where all
  // that it does is to call the interpreter.
  CodeRange objects[5];

  bool evaluates(uint64_t address) const { return evaluation.holds(address); }
  bool is_own(uint64_t address) const {
    for (const CodeRange& object : objects) {
      if (object.holds(address)) return true;
    }
    return false;
  }
};

// False: this interpreter's evaluation is not one function with an unwind table.
bool find_interpreter_code(InterpreterCode& code);

}  // namespace tensorscope::stacks
