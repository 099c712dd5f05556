// SPDX-License-Identifier: Apache-2.0
// Whose exception is it? Read from the type_info alone, as the Itanium C++ ABI lays it out.
//
// Context: any thread that throws.
#pragma once

#include <cstring>

namespace tensorscope::hooks {

// std::type_info: the table of virtual functions, then the mangled name.
struct TypeInfo {
  const void* const* vtable;
  const char* name;
  const TypeInfo* base;  // of a class with one public base (__si_class_type_info) alone
};

inline bool is_of_c10(const TypeInfo* type) { return type && memcmp(type->name, "N3c10", 5) == 0; }
inline bool is_out_of_memory(const TypeInfo* type) { return strcmp(type->name, "N3c1016OutOfMemoryErrorE") == 0; }

// What torch throws where a file in /dev/shm cannot be made as large as it must be (aten/src/ATen/MapAllocator.cpp).
// The type says nothing about it: the first member of c10::Error, its message, is read without faulting.
bool is_about_shared_memory(const TypeInfo* type, const void* exception);

// The type or one of its bases lies in a library of torch, or its code does that throws it: a program that catches the
// exception has the type_info that all the process uses. Anything else is another's class of the same name.
bool belongs_to_torch(const TypeInfo* type, const void* thrower);

}  // namespace tensorscope::hooks
