// SPDX-License-Identifier: Apache-2.0
// Where this interpreter keeps variables and attributes, by its series. Whether it does is checked before the first
// look (layout_check.h).
//
// Context: heap inspector. Constant once it is found.
#pragma once

#include "python/interpreter.h"
#include "stacks/python/python_interpreter.h"

namespace tensorscope::python::heap_inspector {

// Null: no layout of this series is known.
const stacks::PythonInterpreter* known_layout(const Gil& gil);

}  // namespace tensorscope::python::heap_inspector
