// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch/exception_type.h"

#include "hooks/torch_libraries.h"
#include "support/call_filter.h"

namespace tensorscope::hooks {

namespace {

constexpr int kMaxBases = 8;

// The type_info of the type_info's own class stands before its virtual functions.
const TypeInfo* only_base(const TypeInfo* type) {
  const auto* kind = static_cast<const TypeInfo*>(type->vtable[-1]);
  return strcmp(kind->name, "N10__cxxabiv120__si_class_type_infoE") == 0 ? type->base : nullptr;
}

}  // namespace

// c10::Error begins with its virtual functions and the message, a std::string, which begins with where its text is
// (c10/util/Exception.h of 2.2.2, 2.13.0, 2.14.1 and 2.15.0). Little stack: the failing thread may have no more.
bool is_about_shared_memory(const TypeInfo* type, const void* exception) {
  constexpr char kMessage[] = "unable to allocate shared memory";
  constexpr size_t kLength = sizeof(kMessage) - 1;
  if (strcmp(type->name, "N3c105ErrorE") != 0) return false;
  char* text = nullptr;
  memcpy(&text, static_cast<const char*>(exception) + sizeof(void*), sizeof(text));
  char words[kLength];
  const iovec from{text, kLength};
  return text != nullptr && read_own_memory({words, kLength}, &from, 1) == ssize_t(kLength) &&
         memcmp(words, kMessage, kLength) == 0;
}

bool belongs_to_torch(const TypeInfo* type, const void* thrower) {
  const void* addresses[kMaxBases + 2] = {thrower};
  int count = 1;
  for (; type && count <= kMaxBases; type = only_base(type)) addresses[count++] = type;
  bool found = false;
  visit_objects([&](const LoadedObject& object) {
    if (!is_torch_library(object)) return true;
    for (int i = 0; i < count; ++i) found |= object.contains(addresses[i]);
    return !found;
  });
  return found;
}

}  // namespace tensorscope::hooks
