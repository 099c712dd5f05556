// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/collection_paused.h"

#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

CollectionPaused::CollectionPaused(const Gil& gil) : gil_(gil) {
  const Owned enabled(gil, call("isenabled"));
  was_enabled_ = enabled && gil->PyObject_IsTrue(enabled.get()) == 1;
  if (was_enabled_) const Owned done(gil, call("disable"));
}

void CollectionPaused::undo() {
  if (was_enabled_) const Owned done(gil_, call("enable"));
}

Object* CollectionPaused::call(const char* name) {
  Object* function = builtin_function(gil_, "gc", name);
  return function ? gil_->PyObject_CallFunctionObjArgs(function, nullptr) : nullptr;
}

}  // namespace tensorscope::python::heap_inspector
