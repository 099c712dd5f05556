// SPDX-License-Identifier: Apache-2.0
// What an array of numpy refers to: the owner of its memory (a tensor, another array, a memoryview), and the elements
// of an array of objects. The garbage collector does not know arrays, so their fields are read where they lie.
//
// Offsets of PyArrayObject and PyArray_Descr (numpy/core/include/numpy/ndarraytypes.h): the same in numpy 1.7 to 2.4.
//
// Context: heap inspector. All references are borrowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// False: numpy is not there, or its arrays are laid out in an unknown format.
bool array_layout_is_known(const Gil& gil, const KnownClasses& classes);

// Null: the array's memory is its own.
Object* owner_of_memory(const Object* array);

// Bytes of memory that is the array's own, as far as more than one element tells; 0: it has none, or is another's.
uint64_t own_memory_of(const Object* array);

// Where the memory of an array, or of a memoryview, begins. 0: it has none of its own.
uint64_t address_of_memory(const Object* view, Kind kind);

struct ObjectElements {
  Object* const* first = nullptr;
  size_t count = 0;  // 0: no array of objects, or one that looks into another's memory
};
ObjectElements elements_of(const Gil& gil, const Object* array, const KnownClasses& classes);

// A structured array's fields that refer to objects. Fields in fields are left out.
struct ObjectFields {
  struct Field {
    std::string name;
    ptrdiff_t offset;
  };
  const char* first = nullptr;
  size_t count = 0, bytes_each = 0;  // elements; 0: no structured array with its own memory, or no such field
  std::vector<Field> fields{};
  Object* at(size_t element, const Field& field) const {
    return heap_inspector::field<Object*>(first + element * bytes_each, field.offset);
  }
};
ObjectFields object_fields_of(const Gil& gil, Object* array, const KnownClasses& classes);

// "3" or "1, 2": the indexes of an element, which stands at this place in memory.
std::string element_index(const Object* array, size_t place, size_t bytes_each = sizeof(Object*));

// Until f returns false.
template <typename F>
void each_referent_of_array(const Gil& gil, Object* array, const KnownClasses& classes, F f) {
  if (Object* owner = owner_of_memory(array); owner && !f(owner)) return;
  const ObjectElements elements = elements_of(gil, array, classes);
  for (size_t i = 0; i < elements.count; ++i) {
    if (elements.first[i] && !f(elements.first[i])) return;
  }
  const ObjectFields structured = object_fields_of(gil, array, classes);
  for (size_t i = 0; i < structured.count; ++i) {
    for (const ObjectFields::Field& field : structured.fields) {
      Object* object = structured.at(i, field);
      if (object && !f(object)) return;
    }
  }
}

}  // namespace tensorscope::python::heap_inspector
