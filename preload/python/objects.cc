// SPDX-License-Identifier: Apache-2.0
#include "python/objects.h"

namespace tensorscope::python {

// PyExceptionClass_Name() is tp_name for any type (Objects/exceptions.c, Python/errors.c).
const char* class_name(const Gil& gil, const Object* object) {
  const char* name = gil->PyExceptionClass_Name(type_of(object));
  return name ? name : "?";
}

std::string_view text_of(const Gil& gil, Object* object) {
  if (!object || !is_a(gil, object, gil->PyUnicode_Type)) return {};
  ptrdiff_t size = 0;
  const char* text = gil->PyUnicode_AsUTF8AndSize(object, &size);
  if (!text) {  // lone surrogates
    gil->PyErr_Clear();
    return {};
  }
  return {text, size_t(size)};
}

const void* handled_exception(const Gil& gil) {
  if (!gil->PyErr_GetExcInfo) return nullptr;
  Object *type = nullptr, *value = nullptr, *traceback = nullptr;
  gil->PyErr_GetExcInfo(&type, &value, &traceback);
  for (Object* each : {type, value, traceback}) {
    if (each) gil->Py_DecRef(each);
  }
  return value == gil->_Py_NoneStruct ? nullptr : value;
}

Object* entry(const Gil& gil, Object* dict, const char* name) {
  Object* found = nullptr;
  each_entry(gil, dict, [&](Object* key, Object* value) {
    if (is_exactly(key, gil->PyUnicode_Type) && gil->PyUnicode_CompareWithASCIIString(key, name) == 0) found = value;
    return found == nullptr;
  });
  return found;
}

Object* loaded_module(const Gil& gil, const char* name) { return entry(gil, gil->PyImport_GetModuleDict(), name); }

Object* module_globals(const Gil& gil, const char* name) {
  Object* module = loaded_module(gil, name);
  return module && is_a(gil, module, gil->PyModule_Type) ? gil->PyModule_GetDict(module) : nullptr;
}

Object* builtin_function(const Gil& gil, const char* module, const char* name) {
  Object* function = entry(gil, module_globals(gil, module), name);
  return function && is_exactly(function, gil->PyCFunction_Type) ? function : nullptr;
}

}  // namespace tensorscope::python
