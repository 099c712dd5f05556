// SPDX-License-Identifier: Apache-2.0
// One run of the interpreter's evaluation function, as the Python frames of a thread tell it.
//
// Context: any.
#pragma once

#include "support/ids.h"

namespace tensorscope::stacks {

// The outermost of the Python frames that the innermost run of the evaluation function executes, and what called it.
// While a run lasts these stay the same, and so do the native frames further out than it.
struct Activation {
  const char* frame = nullptr;  // null: no Python on this thread
  const char* code = nullptr;
  StackId caller = 0;  // leaf of the Python stack further out

  explicit operator bool() const { return frame != nullptr; }
  bool operator==(const Activation&) const = default;
};
inline constexpr Activation kNoActivation;

}  // namespace tensorscope::stacks
