// SPDX-License-Identifier: Apache-2.0
#include "support/binding.h"

#include <cstring>

namespace tensorscope::hooks {

namespace {

struct Search {
  const char* symbol;
  const void* inside_caller;
  const char* library = nullptr;  // that the caller's reference names
  Binding found = {};
};

bool find_caller(const LoadedObject& object, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!object.contains(search.inside_caller)) return true;
  search.found.caller = object;
  search.found.function = object.find(search.symbol);
  const uint32_t index = object.symbol_index(search.symbol);
  if (index != 0 && object.is_reference(index)) search.library = object.wanted_library(index);
  return false;
}

bool find_in_library(const LoadedObject& object, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (object.soname && strcmp(object.soname, search.library) == 0) search.found.function = object.find(search.symbol);
  return search.found.function == nullptr;
}

}  // namespace

Binding find_binding(const char* symbol, const void* inside_caller) {
  Search search{symbol, inside_caller};
  visit_objects(find_caller, &search);
  if (!search.found.function && search.library) visit_objects(find_in_library, &search);
  if (!search.found.function) search.found.function = find_in_any_object(symbol);
  return search.found;
}

}  // namespace tensorscope::hooks
