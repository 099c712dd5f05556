// SPDX-License-Identifier: Apache-2.0
// No collection of garbage for a scope: one would run the program's finalizers. With the GIL held throughout, nobody
// else can have changed the setting in between.
//
// Context: heap inspector.
#pragma once

#include "python/interpreter.h"
#include "support/enough_memory.h"

namespace tensorscope::python::heap_inspector {

class CollectionPaused : private UndoneScope {
 public:
  explicit CollectionPaused(const Gil& gil);
  ~CollectionPaused() { undo(); }

 private:
  void undo() final;
  Object* call(const char* name);

  const Gil& gil_;
  bool was_enabled_;
};

}  // namespace tensorscope::python::heap_inspector
