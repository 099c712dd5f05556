#include "python/objects.h"

namespace tensorscope::python {

namespace {
constexpr unsigned long kHeapType = 1ul << 9;           // Py_TPFLAGS_HEAPTYPE
constexpr unsigned long kGarbageCollected = 1ul << 14;  // Py_TPFLAGS_HAVE_GC
constexpr int kTraverseSlot = 71;                       // Py_tp_traverse (Include/typeslots.h, stable ABI)
}  // namespace

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

Object* entry(const Gil& gil, Object* dict, const char* name) {
  Object* found = nullptr;
  each_entry(gil, dict, [&](Object* key, Object* value) {
    if (is_exactly(key, gil->PyUnicode_Type) && gil->PyUnicode_CompareWithASCIIString(key, name) == 0) found = value;
    return found == nullptr;
  });
  return found;
}

Object* module_globals(const Gil& gil, const char* name) {
  Object* module = entry(gil, gil->PyImport_GetModuleDict(), name);
  return module && is_a(gil, module, gil->PyModule_Type) ? gil->PyModule_GetDict(module) : nullptr;
}

Object* builtin_function(const Gil& gil, const char* module, const char* name) {
  Object* function = entry(gil, module_globals(gil, module), name);
  return function && is_exactly(function, gil->PyCFunction_Type) ? function : nullptr;
}

bool is_plain_instance(const Gil& gil, const Object* object) {
  const unsigned long flags = gil->PyType_GetFlags(type_of(object));
  return (flags & kHeapType) && (flags & kGarbageCollected) && !is_a(gil, object, gil->PyType_Type);
}

void each_referent(const Gil& gil, Object* object, Visit visit, void* context) {
  using Traverse = int (*)(Object*, Visit, void*);
  if (auto traverse = reinterpret_cast<Traverse>(gil->PyType_GetSlot(type_of(object), kTraverseSlot))) {
    traverse(object, visit, context);
  }
}

}  // namespace tensorscope::python
