// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/interpreter_layout.h"

namespace tensorscope::python::heap_inspector {

namespace {

constinit stacks::PythonInterpreter g_interpreter;
stacks::Found g_found = stacks::Found::none;

}  // namespace

const stacks::PythonInterpreter* known_layout(const Gil&) {
  if (g_found == stacks::Found::none) g_found = stacks::find_interpreter(g_interpreter);
  return g_found == stacks::Found::yes ? &g_interpreter : nullptr;
}

}  // namespace tensorscope::python::heap_inspector
