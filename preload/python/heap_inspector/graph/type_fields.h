// SPDX-License-Identifier: Apache-2.0
// Fields of type objects, read where they lie: PyType_GetSlot() answers for classes made at run time only before
// CPython 3.10, and asking for flags by a call costs more than the walk over half a million objects itself.
//
// Offsets of PyTypeObject (Include/cpython/object.h) and of PyMemberDef (Include/structmember.h): the same in
// 3.8 to 3.14 where the GIL is there; check_type_fields() compares them with what the API reports.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "python/interpreter.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

template <typename T>
T field(const void* object, ptrdiff_t offset) {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof(T));
  return value;
}

namespace type_flags {
inline constexpr unsigned long kInlineValues = 1ul << 2;  // 3.13 on
inline constexpr unsigned long kManagedDict = 1ul << 4;   // 3.11 on
inline constexpr unsigned long kHeapType = 1ul << 9;
inline constexpr unsigned long kCollected = 1ul << 14;  // Py_TPFLAGS_HAVE_GC
inline constexpr unsigned long kLong = 1ul << 24;
inline constexpr unsigned long kList = 1ul << 25;
inline constexpr unsigned long kTuple = 1ul << 26;
inline constexpr unsigned long kText = 1ul << 28;
inline constexpr unsigned long kDict = 1ul << 29;
inline constexpr unsigned long kException = 1ul << 30;
inline constexpr unsigned long kType = 1ul << 31;
}  // namespace type_flags

using Traverse = int (*)(Object*, Visit, void*);

inline ptrdiff_t basic_size_of(const Object* type) { return field<ptrdiff_t>(type, 32); }
inline ptrdiff_t item_size_of(const Object* type) { return field<ptrdiff_t>(type, 40); }
inline uint64_t dealloc_of(const Object* type) { return field<uint64_t>(type, 48); }
inline ptrdiff_t vectorcall_offset_of(const Object* type) { return field<ptrdiff_t>(type, 56); }
inline unsigned long flags_of(const Object* type) { return field<unsigned long>(type, 168); }
inline Traverse traverse_of(const Object* type) { return field<Traverse>(type, 184); }
inline const char* members_of(const Object* type) { return field<const char*>(type, 240); }
inline const char* properties_of(const Object* type) { return field<const char*>(type, 248); }  // PyGetSetDef[]
inline Object* base_of(const Object* type) { return field<Object*>(type, 256); }
inline Object* class_dict_of(const Object* type) {
  return field<Object*>(type, 264);
}  // null in 3.12 on where built in
inline ptrdiff_t dict_offset_of(const Object* type) { return field<ptrdiff_t>(type, 288); }

inline ptrdiff_t size_of_variable(const Object* object) { return field<ptrdiff_t>(object, 16); }  // ob_size

inline bool has_flag(const Object* object, unsigned long flag) { return (flags_of(type_of(object)) & flag) != 0; }

// What the collector itself visits (PyObject_IS_GC): a built-in type is not, though its type's flag is set.
inline bool is_collected(const Object* object) {
  const unsigned long flags = flags_of(type_of(object));
  if ((flags & type_flags::kCollected) == 0) return false;
  return (flags & type_flags::kType) == 0 || (flags_of(object) & type_flags::kHeapType) != 0;
}

// Whether the collector has it in one of its lists: the first word of the two before the object (PyGC_Head) is not 0.
inline bool is_tracked(const Object* object) { return field<uintptr_t>(object, -16) != 0; }

// Whether one of an object's own fields is this word.
bool has_word(const Object* object, uint64_t word);

// Context: heap inspector. False: this interpreter's types are laid out in another way.
bool check_type_fields(const Gil& gil);

// The class's own name, without a module before it.
const char* short_class_name(const Gil& gil, const Object* object);
const char* short_name_of_class(const Gil& gil, const Object* type);

// "Held at 0x7f5c0a2e1a90": as Python writes an object that says no more of itself than its class and its id().
std::string object_text(std::string_view class_name, const Object* object);

}  // namespace tensorscope::python::heap_inspector
