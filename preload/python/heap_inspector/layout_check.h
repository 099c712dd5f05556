// SPDX-License-Identifier: Apache-2.0
// Whether this interpreter keeps variables and attributes where its series does (graph/interpreter_layout.h): found
// once, before the first look, by what a few lines of Python of our own are seen to hold. What did not turn out to be
// as its series has it is not read, and every dump says so: a look that could not read it has not seen all that holds a
// tensor.
//
// Context: heap inspector. Constant once check_layouts() has returned.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// Context: heap inspector, once, before the first look. May give the GIL up meanwhile.
void check_layouts(const Gil& gil);

// Why a look cannot be complete, whatever it finds: a literal; "" where there is nothing to say.
const char* layout_trouble();

}  // namespace tensorscope::python::heap_inspector
