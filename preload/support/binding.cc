// SPDX-License-Identifier: Apache-2.0
#include "support/binding.h"

#include <cstring>

namespace tensorscope::hooks {

namespace {

// Fills in the caller, and its own definition if it has one. Returns the library that its reference names, or null.
const char* find_caller(const char* symbol, const void* inside_caller, Binding& found) {
  const char* library = nullptr;
  visit_objects([&](const LoadedObject& object) {
    if (!object.contains(inside_caller)) return true;
    found.caller = object;
    found.function = object.find(symbol);
    const uint32_t index = object.symbol_index(symbol);
    if (index != 0 && object.is_reference(index)) library = object.wanted_library(index);
    return false;
  });
  return library;
}

void* find_in_library(const char* symbol, const char* library) {
  void* found = nullptr;
  visit_objects([&](const LoadedObject& object) {
    if (object.soname && strcmp(object.soname, library) == 0) found = object.find(symbol);
    return found == nullptr;
  });
  return found;
}

}  // namespace

Binding find_binding(const char* symbol, const void* inside_caller) {
  Binding found;
  const char* const library = find_caller(symbol, inside_caller, found);
  if (!found.function && library) found.function = find_in_library(symbol, library);
  if (!found.function) found.function = find_in_any_object(symbol);
  return found;
}

}  // namespace tensorscope::hooks
