#include "hooks/torch/exception_type.h"

#include "hooks/torch_libraries.h"

namespace tensorscope::hooks {

namespace {

constexpr int kMostBases = 8;

// The type_info of the type_info's own class stands before its virtual functions.
const TypeInfo* only_base(const TypeInfo* type) {
  const auto* kind = static_cast<const TypeInfo*>(type->vtable[-1]);
  return strcmp(kind->name, "N10__cxxabiv120__si_class_type_infoE") == 0 ? type->base : nullptr;
}

struct Search {
  const void* addresses[kMostBases + 2];
  int count;
  bool found;
};

bool look(const LoadedObject& object, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!is_torch_library(object)) return true;
  for (int i = 0; i < search.count; ++i) search.found |= object.contains(search.addresses[i]);
  return !search.found;
}

}  // namespace

bool belongs_to_torch(const TypeInfo* type, const void* thrower) {
  Search search{{thrower}, 1, false};
  for (; type && search.count <= kMostBases; type = only_base(type)) search.addresses[search.count++] = type;
  visit_objects(look, &search);
  return search.found;
}

}  // namespace tensorscope::hooks
