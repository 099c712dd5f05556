// SPDX-License-Identifier: Apache-2.0
// Exported symbols of objects that are loaded in this process, found in their own ELF tables: no dlsym, no dlopen, so
// it also finds what was opened with RTLD_LOCAL, and works while this thread holds the loader's lock.
//
// Context: activation, collector, and the first call of a hook, where no lock of ours is held: dl_iterate_phdr takes
// the loader's second lock (dl_load_write_lock, recursive), which no thread holds while it runs foreign code but
// callbacks of dl_iterate_phdr itself. No malloc.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#include "support/function_ref.h"

namespace tensorscope {

// One loaded object's dynamic section. Views into the object itself: valid while it stays loaded.
struct LoadedObject {
  const char* path = nullptr;
  uint64_t bias = 0;
  uint64_t begin = 0;                       // lowest mapped address
  uint64_t end = 0;                         // one past the highest
  uint64_t relro_begin = 0, relro_end = 0;  // PT_GNU_RELRO: read-only since the loader has relocated it
  size_t tls_module = 0, tls_bytes = 0;     // its thread-local variables; 0: it has none
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
  const ElfW(Versym) * versions = nullptr;
  const char* soname = nullptr;
  const ElfW(Verneed) * version_needs = nullptr;
  const ElfW(Rela) * plt_relocations = nullptr;
  size_t plt_relocation_count = 0;
  const ElfW(Rela) * relocations = nullptr;
  size_t relocation_count = 0;
  size_t relative_count = 0;  // the first of `relocations` that need no symbol
  bool symbolic = false;      // DT_SYMBOLIC or DF_SYMBOLIC: its own calls cannot be interposed

  explicit operator bool() const { return symbols != nullptr; }
  // Address of an exported, defined function or object, or null. Of several versions the default one.
  // Not for functions that are chosen when they are bound (STT_GNU_IFUNC).
  void* find(const char* name) const;
  // Index in `symbols` of such a symbol or of a reference to one, 0 if the object has neither.
  uint32_t symbol_index(const char* name) const;
  // Of `symbols`, the null symbol among them; 0 where the object has no table.
  uint32_t symbol_count() const;
  // Whether `symbols[index]` is a reference to another object's definition, and the file name (DT_NEEDED) of the
  // library whose version it names; null: it names none.
  bool is_reference(uint32_t index) const { return symbols[index].st_shndx == SHN_UNDEF; }
  const char* wanted_library(uint32_t index) const;
  bool file_name_begins_with(const char* prefix) const;
  bool contains(const void* address) const { return uint64_t(address) >= begin && uint64_t(address) < end; }
};

// The first loaded object whose file name begins with `basename_prefix` ("libc10.so" also finds libc10.so.2.6), the
// preload itself excepted. Empty prefix: the executable.
LoadedObject find_object(const char* basename_prefix);

// The preload itself.
LoadedObject own_object();

// The definition of `name` in any loaded object but the preload itself, in load order; null if there is none.
void* find_in_any_object(const char* name);

// The same into a pointer of the symbol's type; false where it stays null.
template <typename Pointer>
bool resolve(const char* name, Pointer& pointer) {
  pointer = reinterpret_cast<Pointer>(find_in_any_object(name));
  return pointer != nullptr;
}

// Calls visit(object) for every loaded object but the preload itself, in load order, until it returns false.
void visit_objects(FunctionRef<bool(const LoadedObject& object)> visit);

}  // namespace tensorscope
