// SPDX-License-Identifier: Apache-2.0
// Whose values a threading.local keeps: it has a dict for each thread, by an object that stands for the thread.
//
// Context: heap inspector. Fields of thread states that no API reports are found by what is in them, by checked reads.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/heap_inspector/graph/attributes.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

class ThreadLocals {
 public:
  ThreadLocals(const Gil& gil, Attributes& attributes) : gil_(gil), attributes_(attributes) {}

  // The thread that a key of such a dict stands for, as the program calls it; "" for the main thread, and where that is
  // not known. Nothing: the key stands for no thread.
  std::optional<std::string> thread_of(Object* key);

 private:
  bool is_mark(const Object* object) const;
  void read(const Object* mark_type);

  const Gil& gil_;
  Attributes& attributes_;
  bool read_ = false;
  std::vector<std::pair<const Object*, std::string>> names_;  // by mark
};

}  // namespace tensorscope::python::heap_inspector
