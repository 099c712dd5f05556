// SPDX-License-Identifier: Apache-2.0
#include "hooks/relocation_types.h"
#include "hooks/self_check.h"

namespace tensorscope::hooks {

namespace {

// An unbound slot holds an address in the object's own procedure linkage table, or, before the loader relocated the
// object, one that lacks the load bias.
bool is_unbound(const LoadedObject& object, const void* value, const void* definition) {
  return value != definition && (object.contains(value) || uint64_t(value) < object.end - object.begin);
}

void check_range(const LoadedObject& object, const ElfW(Rela) * begin, const ElfW(Rela) * end, uint32_t symbol,
                 const void* definition, const void* ours, Slots& slots) {
  for (const ElfW(Rela)* relocation = begin; relocation < end; ++relocation) {
    if (ELF64_R_SYM(relocation->r_info) != symbol || !holds_an_address(*relocation)) continue;
    const void* value = *reinterpret_cast<void* const*>(object.bias + relocation->r_offset);
    if (value == ours) {
      ++slots.ours;
    } else if (is_unbound(object, value, definition)) {
      ++slots.unbound;
    } else {
      ++slots.foreign;
    }
  }
}

}  // namespace

Slots check_slots(const LoadedObject& object, const char* symbol, const void* ours) {
  Slots slots;
  const uint32_t index = object.symbol_index(symbol);
  if (index == 0) return slots;
  const void* definition = object.find(symbol);
  check_range(object, object.plt_relocations, object.plt_relocations + object.plt_relocation_count, index, definition,
              ours, slots);
  check_range(object, object.relocations + object.relative_count, object.relocations + object.relocation_count, index,
              definition, ours, slots);
  return slots;
}

}  // namespace tensorscope::hooks
