// Exported symbols of objects that are loaded in this process, found in their own ELF tables: no dlsym, no dlopen, so it
// also finds what was opened with RTLD_LOCAL, and works while this thread holds the loader's lock.
//
// Context: activation, collector. Not for hooks: dl_iterate_phdr takes the loader's lock.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace tensorscope {

// One loaded object's dynamic section. Views into the object itself: valid while it stays loaded.
struct LoadedObject {
  const char* path = nullptr;
  uint64_t bias = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const ElfW(Rela) * plt_relocations = nullptr;
  size_t plt_relocation_count = 0;
  const ElfW(Rela) * relocations = nullptr;
  size_t relocation_count = 0;
  bool symbolic = false;  // DT_SYMBOLIC or DF_SYMBOLIC: its own calls cannot be interposed

  explicit operator bool() const { return symbols != nullptr; }
  // Address of an exported, defined symbol (any version), or null.
  void* find(const char* name) const;
};

// The first loaded object whose file name begins with `basename_prefix` ("libc10.so" also finds libc10.so.2.6), the
// preload itself excepted. Empty prefix: the executable.
LoadedObject find_object(const char* basename_prefix);

// The definition of `name` in any loaded object but the preload itself, in load order; null if there is none.
void* find_in_any_object(const char* name);

}  // namespace tensorscope
