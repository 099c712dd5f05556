// SPDX-License-Identifier: Apache-2.0
#include "python/imported_whole.h"

#include "python/heap_inspector/graph/attributes.h"
#include "python/objects.h"

namespace tensorscope::python {

bool imported_whole(const Gil& gil, const char* name) {
  Object* globals = module_globals(gil, name);
  Object* specification = globals ? entry(gil, globals, "__spec__") : nullptr;
  if (!specification) return globals != nullptr;
  heap_inspector::Attributes attributes(gil);
  Object* running = attributes.find(specification, "_initializing");
  return !running || !is_exactly(running, gil->PyBool_Type) || gil->PyObject_IsTrue(running) == 0;
}

}  // namespace tensorscope::python
