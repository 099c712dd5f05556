// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/type_fields.h"

#include <fmt/format.h>

namespace tensorscope::python::heap_inspector {

namespace {
constexpr int kTraverseSlot = 71;  // Py_tp_traverse (Include/typeslots.h, stable ABI)
constexpr int kBaseSlot = 48;      // Py_tp_base
}  // namespace

bool check_type_fields(const Gil& gil) {
  static bool checked = false, right = false;  // with the GIL
  if (checked) return right;
  checked = true;
  for (Object* type : {gil->PyType_Type, gil->PyDict_Type, gil->PyList_Type, gil->PyUnicode_Type, gil->PyLong_Type}) {
    if (flags_of(type) != gil->PyType_GetFlags(type)) return false;
  }
  Object* owner = entry(gil, module_globals(gil, "types"), "SimpleNamespace");
  Object* made = entry(gil, module_globals(gil, "types"), "DynamicClassAttribute");  // by a class statement
  for (Object* type : {owner, made}) {
    if (!type || !is_a(gil, type, gil->PyType_Type)) continue;
    if (flags_of(type) != gil->PyType_GetFlags(type)) return false;
    if ((flags_of(type) & type_flags::kHeapType) == 0) continue;
    if (reinterpret_cast<void*>(traverse_of(type)) != gil->PyType_GetSlot(type, kTraverseSlot)) return false;
    if (base_of(type) != gil->PyType_GetSlot(type, kBaseSlot)) return false;
  }
  const Object* text = gil->PyUnicode_Type;
  right =
      traverse_of(text) == nullptr && traverse_of(gil->PyDict_Type) != nullptr && item_size_of(gil->PyTuple_Type) == 8;
  return right;
}

bool has_word(const Object* object, uint64_t word) {
  const ptrdiff_t size = basic_size_of(type_of(object));
  for (ptrdiff_t at = 16; at + ptrdiff_t(sizeof word) <= size; at += ptrdiff_t(sizeof word)) {
    if (field<uint64_t>(object, at) == word) return true;
  }
  return false;
}

const char* short_name_of_class(const Gil& gil, const Object* type) {
  const char* name = gil->PyExceptionClass_Name(const_cast<Object*>(type));
  if (!name) return "?";
  const char* dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

const char* short_class_name(const Gil& gil, const Object* object) { return short_name_of_class(gil, type_of(object)); }

std::string object_text(std::string_view class_name, const Object* object) {
  return fmt::format("{} at {:#x}", class_name, reinterpret_cast<uintptr_t>(object));
}

}  // namespace tensorscope::python::heap_inspector
