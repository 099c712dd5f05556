// SPDX-License-Identifier: Apache-2.0
// Context: any thread that holds the GIL; not inside a hook.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::python {

// Returns whether that module is there and its body has run: another thread's import may have got as far as adding it.
bool imported_whole(const Gil& gil, const char* name);

}  // namespace tensorscope::python
