// SPDX-License-Identifier: Apache-2.0
// The memory that objects of pyarrow use. They keep its owner (an array of numpy, a memoryview) in C++, where the
// garbage collector does not see it, so methods of pyarrow's own classes return the addresses. They are
// written in C++ and Cython, keep the GIL, and copy nothing.
//
// Context: heap inspector. Makes objects of pyarrow, each of which is gone again at the end of its question.
#pragma once

#include <cstdint>

#include "python/heap_inspector/graph/look_limits.h"
#include "python/interpreter.h"
#include "support/page_array.h"

namespace tensorscope::python::heap_inspector {

// Whether this class, by the name that C code gave it, is one of pyarrow's that have memory.
bool is_arrow_class(const char* name);

class ArrowMemory {
 public:
  struct Piece {
    uint64_t address, size;
  };

  ArrowMemory(const Gil& gil, LookLimits& limits);
  // Returns the known pieces of an object of Kind::arrow; valid until the next call.
  const PageArray<Piece>& pieces(Object* object);

 private:
  void add_buffer(Object* buffer);
  void add_array(Object* array);
  void add_chunks(Object* chunked);
  void add_columns(Object* table);
  template <typename F>
  void each_part(Object* object, const char* count, const char* part, F add);
  uint64_t number(Object* object, const char* attribute);
  Object* class_of(Object* object, const char* name) const;

  const Gil& gil_;
  LookLimits& limits_;
  bool columns_run_no_code_ = true;
  PageArray<Piece> pieces_;
};

}  // namespace tensorscope::python::heap_inspector
