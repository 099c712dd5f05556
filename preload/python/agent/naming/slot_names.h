// What the saved tensors of autograd's node classes are called: torch gives each class of C++ nodes a Python type with
// a property for every saved tensor, in the order of their declaration.
//
// Context: agent.
#pragma once

#include "python/interpreter.h"
#include "python/references.h"

namespace tensorscope::python::agent {

void find_slot_names(const Gil& gil, References& references);

}  // namespace tensorscope::python::agent
