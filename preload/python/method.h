// SPDX-License-Identifier: Apache-2.0
// A function of ours that Python can call, as the interpreter wants it described.
//
// Context: any; Python calls the functions with the GIL held.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::python {

// PyMethodDef (Include/methodobject.h, stable ABI).
struct MethodDefinition {
  const char* name = nullptr;
  Object* (*function)(Object* self, Object* arguments) = nullptr;
  int flags = 0;
  const char* doc = nullptr;
};
inline constexpr int kNoArguments = 0x0004;  // METH_NOARGS
inline constexpr int kOneArgument = 0x0008;  // METH_O
inline constexpr int kArguments = 0x0001;    // METH_VARARGS

}  // namespace tensorscope::python
