// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/frozen_objects.h"

#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

FrozenObjects::FrozenObjects(const Gil& gil) {
  Object* get_count = builtin_function(gil, "gc", "get_freeze_count");
  if (get_count == nullptr) return;  // nobody has imported what freezes
  const Owned count(gil, gil->PyObject_CallFunctionObjArgs(get_count, nullptr));
  const long long frozen = count ? gil->PyLong_AsLongLong(count.get()) : 0;
  if (frozen > 0) find(gil->PyImport_GetModuleDict(), uint64_t(frozen));
}

FrozenObjects::FrozenObjects(Object* member, uint64_t count) { find(member, count); }

void FrozenObjects::find(Object* member, uint64_t count) {
  count_ = count;
  member_ = reinterpret_cast<const char*>(member) - kHeaderBytes;
  known_ = is_tracked(member) && is_whole(member_, count);
}

bool FrozenObjects::is_whole(const char* member, uint64_t count) const {
  uint64_t heads = 0, passed = 0;
  const char* at = member;
  do {
    const char* const next = next_of(at);
    if (next == nullptr || previous_of(next) != at || ++passed > count + 1) return false;
    heads += is_head(at);
    at = next;
  } while (at != member);
  return heads == 1 && passed == count + 1;
}

}  // namespace tensorscope::python::heap_inspector
