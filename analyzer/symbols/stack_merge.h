// SPDX-License-Identifier: Apache-2.0
// Puts a native and a Python stack of the same moment together.
//
// Each native frame of the interpreter's evaluation function stands for a run of Python frames: those up to and
// including the next one with the `entry` mark (from CPython 3.11 on, Python functions call each other without a native
// call). So:
//
//   native, innermost first          Python, innermost first          merged
//     at::empty                        softmax (entry)                  at::empty
//     _PyEval_EvalFrameDefault         forward                          softmax
//     cfunction_call                   train (entry)                    [interpreter internals, where wanted]
//     _PyEval_EvalFrameDefault                                          forward, train
//     main
#pragma once

#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

struct PythonStackFrame {
  Frame frame;
  bool entry = false;
};

// All vectors innermost first. `full` keeps the interpreter's own functions and the process's beginning. No Python
// frame is ever lost: where the two stacks do not fit each other, the Python frames come in one piece after the native
// frames that are inner to the innermost evaluation.
std::vector<Frame> merge_stacks(const std::vector<Frame>& native, const std::vector<PythonStackFrame>& python,
                                bool full);

}  // namespace tensorscope::analyzer
