// SPDX-License-Identifier: Apache-2.0
#include "hooks/late_binding.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "hooks/hook_list.h"
#include "hooks/relocation_types.h"
#include "support/loaded_object.h"

namespace tensorscope::hooks {

namespace {

constexpr const char* kNames[] = {
#define X(id, symbol, ...) #symbol,
    TENSORSCOPE_HOOKS(X)
#undef X
#define X(name, why) #name,
        TENSORSCOPE_CUDA_RUNTIME_FUNCTIONS(X) TENSORSCOPE_LIBC_FUNCTIONS(X) TENSORSCOPE_CXX_RUNTIME_FUNCTIONS(X)
#undef X
};
constexpr size_t kNameCount = sizeof(kNames) / sizeof(*kNames);

struct Work {
  const void* ours[kNameCount] = {};
  const void* definition[kNameCount] = {};  // the first in load order
};

// The symbols of one object that are to be ours, by their index.
struct Wanted {
  struct Symbol {
    uint32_t index;
    const void* ours;
    const void* definition;
  };
  Symbol symbols[kNameCount];
  size_t count = 0;

  const Symbol* find(uint32_t index) const {
    const Symbol* const end = symbols + count;
    const Symbol* found = std::find_if(symbols, end, [&](const Symbol& symbol) { return symbol.index == index; });
    return found == end ? nullptr : found;
  }
};

// Threads of the program may call through it meanwhile: one store. What is read-only is so by whole pages, of which the
// last one, in part, is not (glibc, elf/dl-reloc.c).
void write_slot(const LoadedObject& object, uint64_t address, const void* ours) {
  static const uint64_t page_bytes = uint64_t(sysconf(_SC_PAGESIZE));
  const auto page_of = [](uint64_t at) { return at & ~(page_bytes - 1); };
  const bool read_only = address >= page_of(object.relro_begin) && address < page_of(object.relro_end);
  void* const page = reinterpret_cast<void*>(page_of(address));
  if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(reinterpret_cast<const void**>(address), ours, __ATOMIC_RELEASE);
  if (read_only) mprotect(page, page_bytes, PROT_READ);
}

void bind_range(const LoadedObject& object, const ElfW(Rela) * begin, const ElfW(Rela) * end, const Wanted& wanted) {
  for (const ElfW(Rela)* relocation = begin; relocation < end; ++relocation) {
    const uint32_t index = ELF64_R_SYM(relocation->r_info);
    const Wanted::Symbol* symbol = index == 0 || !holds_an_address(*relocation) ? nullptr : wanted.find(index);
    if (symbol == nullptr) continue;
    const uint64_t address = object.bias + relocation->r_offset;
    const void* value = *reinterpret_cast<const void* const*>(address);
    if (value == symbol->ours || (is_data(*relocation) && value != symbol->definition)) continue;
    write_slot(object, address, symbol->ours);
  }
}

void bind_object(const LoadedObject& object, const Work& work) {
  Wanted wanted;
  for (size_t i = 0; i < kNameCount; ++i) {
    const uint32_t index = work.ours[i] ? object.symbol_index(kNames[i]) : 0;
    if (index == 0) continue;
    wanted.symbols[wanted.count++] = {index, work.ours[i], work.definition[i]};
  }
  if (wanted.count == 0) return;
  bind_range(object, object.plt_relocations, object.plt_relocations + object.plt_relocation_count, wanted);
  bind_range(object, object.relocations + object.relative_count, object.relocations + object.relocation_count, wanted);
}

}  // namespace

void bind_late() {
  Work work;
  const LoadedObject own = own_object();
  for (size_t i = 0; i < kNameCount; ++i) {
    work.ours[i] = own.find(kNames[i]);
    work.definition[i] = find_in_any_object(kNames[i]);
  }
  visit_objects([&](const LoadedObject& object) {
    bind_object(object, work);
    return true;
  });
}

}  // namespace tensorscope::hooks
