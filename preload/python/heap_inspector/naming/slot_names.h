// SPDX-License-Identifier: Apache-2.0
// What the saved tensors of autograd's node classes are called: torch gives each class of C++ nodes a Python type with
// a property for every saved tensor, in the order of their declaration.
//
// Context: heap inspector.
#pragma once

#include "python/interpreter.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

void find_slot_names(const Gil& gil, References& references);

}  // namespace tensorscope::python::heap_inspector
