// SPDX-License-Identifier: Apache-2.0
// Python of our own that runs in the program: the files preload/**/*.py, of which the build makes constants
// (scripts/embed_python.py). Each file says under `if TYPE_CHECKING:` what it is given.
//
// Context: any thread that holds the GIL; not inside a hook.
#pragma once

#include <initializer_list>

#include "python/interpreter.h"
#include "python/method.h"

namespace tensorscope::python {

struct GivenObject {
  const char* name;
  Object* object;
};

// Returns new globals (a new reference) with these functions and objects, or null if an object is null or memory is
// short.
Object* own_globals(const Gil& gil, std::initializer_list<MethodDefinition*> functions,
                    std::initializer_list<GivenObject> objects = {});

// Runs the text with such globals, as code of the file <tensorscope>, so that its frames are not taken for the
// program's. Returns the globals: a new reference, which is kept if functions of the text are called later. Returns
// null, without an error set, if it failed.
Object* run_own_source(const Gil& gil, const char* source, std::initializer_list<MethodDefinition*> functions,
                       std::initializer_list<GivenObject> objects = {});

}  // namespace tensorscope::python
