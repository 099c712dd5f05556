#include "hooks/torch/exception_type.h"

#include <cstdint>

#include "hooks/torch_libraries.h"
#include "torch/metadata/safe_reads.h"

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

bool is_about_shared_memory(const TypeInfo* type, const void* exception) {
  constexpr char kMessage[] = "unable to allocate shared memory";
  constexpr size_t kWords = (sizeof(kMessage) - 1) / sizeof(uint64_t);
  static_assert(kWords * sizeof(uint64_t) == sizeof(kMessage) - 1);
  if (strcmp(type->name, "N3c105ErrorE") != 0) return false;
  const uint64_t member = reinterpret_cast<uint64_t>(exception) + sizeof(void*);  // behind the virtual functions
  uint64_t text = 0, addresses[kWords], words[kWords] = {};
  if (!torch::read_words_safely(&member, &text, 1) || text == 0) return false;
  for (size_t i = 0; i < kWords; ++i) addresses[i] = text + i * sizeof(uint64_t);
  return torch::read_words_safely(addresses, words, kWords) && memcmp(words, kMessage, sizeof(words)) == 0;
}

bool belongs_to_torch(const TypeInfo* type, const void* thrower) {
  Search search{{thrower}, 1, false};
  for (; type && search.count <= kMostBases; type = only_base(type)) search.addresses[search.count++] = type;
  visit_objects(look, &search);
  return search.found;
}

}  // namespace tensorscope::hooks
