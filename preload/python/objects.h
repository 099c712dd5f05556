// SPDX-License-Identifier: Apache-2.0
// Looks at Python objects that run none of the program's code: no attribute look-up, no iteration protocol, no __eq__,
// __hash__ or __repr__, whatever the object's class or metaclass defines. All references are borrowed unless a name
// says otherwise; with the GIL held throughout nothing that is borrowed can go away.
//
// Context: any thread that holds the GIL; not inside a hook.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "python/interpreter.h"
#include "support/enough_memory.h"

namespace tensorscope::python {

inline constexpr int kFileInput = 257;  // Py_file_input (Include/compile.h)

inline bool is_exactly(const Object* object, const Object* type) { return type_of(object) == type; }
inline bool is_a(const Gil& gil, const Object* object, Object* type) {
  return gil->PyType_IsSubtype(type_of(object), type) != 0;
}

// The class's own name, without its module; never null.
const char* class_name(const Gil& gil, const Object* object);

// The characters of a str (a subclass's too), empty for any other object. Valid as long as the str is.
std::string_view text_of(const Gil& gil, Object* object);

// What a function of ours returns that has nothing to return.
inline Object* new_none(const Api& api) {
  api.Py_IncRef(api._Py_NoneStruct);
  return api._Py_NoneStruct;
}

// A reference that is given back at the end of its scope.
class Owned : private UndoneScope {
 public:
  Owned(const Gil& gil, Object* object) : gil_(gil), object_(object) {
    if (!object) gil->PyErr_Clear();
  }
  ~Owned() { undo(); }
  Object* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  void undo() final {
    if (object_) gil_->Py_DecRef(object_);
  }
  const Gil& gil_;
  Object* object_;
};

// Whether it is a dict or a frozendict, which begins as one; or an instance of a subclass.
inline bool is_dict(const Gil& gil, const Object* object) {
  return is_a(gil, object, gil->PyDict_Type) || (gil->PyFrozenDict_Type && is_a(gil, object, gil->PyFrozenDict_Type));
}

// Calls f(key, value) for each entry of such a one (its raw entries) until f returns false.
template <typename F>
void each_entry(const Gil& gil, Object* dict, F f) {
  if (!dict || !is_dict(gil, dict)) return;
  ptrdiff_t position = 0;
  Object *key = nullptr, *value = nullptr;
  while (gil->PyDict_Next(dict, &position, &key, &value))
    if (!f(key, value)) return;
}

// Calls f(index, element) for each element of a list or tuple (or an instance of a subclass) until f returns false.
template <typename F>
void each_element(const Gil& gil, Object* sequence, F f) {
  if (!sequence) return;
  const bool list = is_a(gil, sequence, gil->PyList_Type);
  if (!list && !is_a(gil, sequence, gil->PyTuple_Type)) return;
  const ptrdiff_t size = list ? gil->PyList_Size(sequence) : gil->PyTuple_Size(sequence);
  for (ptrdiff_t i = 0; i < size; ++i) {
    Object* element = list ? gil->PyList_GetItem(sequence, i) : gil->PyTuple_GetItem(sequence, i);
    if (element && !f(i, element)) return;
  }
}

// What an `except` of this thread is handling, only to be compared; null: nothing, or the interpreter does not say.
const void* handled_exception(const Gil& gil);

// The entry of this name, or null. Walks the dict: a look-up could call __eq__ of a foreign key.
Object* entry(const Gil& gil, Object* dict, const char* name);

// sys.modules[name], or null. `name` is only looked up, never imported.
Object* loaded_module(const Gil& gil, const char* name);

// The module's __dict__, or null.
Object* module_globals(const Gil& gil, const char* name);

// sys.modules[module].name where that is a function written in C, or null.
Object* builtin_function(const Gil& gil, const char* module, const char* name);

}  // namespace tensorscope::python
