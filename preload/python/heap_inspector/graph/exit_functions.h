// SPDX-License-Identifier: Apache-2.0
// What Python's atexit keeps until the program ends: functions, bound methods and their arguments. No API shows them,
// and up to CPython 3.13 the garbage collector does not either, so they are read from the interpreter's state. The exit
// dump's function, which the bridge has registered there too, marks where they are.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/heap_inspector/graph/object_graph.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// Numbers of objects, kNoObject for what is in no graph: it leads to no tensor.
struct ExitFunction {
  uint32_t function, arguments, keywords;
  std::string name;  // qualified where it is written in Python: "Writer.close"
};

// Empty where the exit dump's function is not registered any more.
std::vector<ExitFunction> exit_functions(const Gil& gil, const ObjectGraph& graph);

}  // namespace tensorscope::python::heap_inspector
