// SPDX-License-Identifier: Apache-2.0
// The module `libtensorscope` that a program imports under the preload: dump(), name(), active(), and what other rooms
// add.
#pragma once

#include "python/interpreter.h"
#include "python/method.h"

namespace tensorscope::python {

// Context: the library's constructor, before main. Adds the built-in module `libtensorscope` to the interpreter's
// inittab where the executable or libpython is already there. Costs two symbol look-ups, nothing else.
void register_builtin_module();

// Before register_builtin_module().
void add_builtin_function(const MethodDefinition& function);

// A class: `source` defines it, beside `function`, which the source may call. Literals; one class.
void add_builtin_class(const char* name, const char* source, const MethodDefinition& function);

// Context: heap inspector. Where the interpreter was initialised before register_builtin_module() could reach its
// inittab (a libpython that a C++ program opened): puts the module into sys.modules, unless the program has one of that
// name.
void add_builtin_module_late(const Gil& gil);

}  // namespace tensorscope::python
