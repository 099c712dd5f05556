// SPDX-License-Identifier: Apache-2.0
#include "support/loaded_object.h"

#include <cstring>

#include "support/locks/loader_walk.h"

namespace tensorscope {

namespace {

constexpr ElfW(Versym) kHiddenVersion = 0x8000;  // not the default version of its name

uint32_t gnu_hash_of(const char* name) {
  uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + uint8_t(*name);
  return hash;
}

uint32_t sysv_hash_of(const char* name) {
  uint32_t hash = 0;
  for (; *name; ++name) {
    hash = (hash << 4) + uint8_t(*name);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  return hash;
}

struct GnuHash {
  explicit GnuHash(const uint32_t* table)
      : bucket_count(table[0]), first_symbol(table[1]), bloom_words(table[2]), bloom_shift(table[3]) {
    bloom = reinterpret_cast<const ElfW(Addr)*>(table + 4);
    buckets = reinterpret_cast<const uint32_t*>(bloom + bloom_words);
    chains = buckets + bucket_count;
  }
  bool may_contain(uint32_t hash) const {
    constexpr unsigned kBits = 8 * sizeof(ElfW(Addr));
    const ElfW(Addr) word = bloom[hash / kBits % bloom_words];
    return (word >> hash % kBits) & (word >> (hash >> bloom_shift) % kBits) & 1;
  }

  uint32_t bucket_count, first_symbol, bloom_words, bloom_shift;
  const ElfW(Addr) * bloom;
  const uint32_t* buckets;
  const uint32_t* chains;
};

bool is_definition(const ElfW(Sym) & symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC);
}

// Index of `name` in the object's hash table, the default version before others; 0 if it is not there.
uint32_t hashed_index(const LoadedObject& object, const char* name, bool definition) {
  uint32_t found = 0;
  const auto is_default = [&](uint32_t index) {
    const ElfW(Sym)& symbol = object.symbols[index];
    if ((definition && !is_definition(symbol)) || strcmp(object.strings + symbol.st_name, name) != 0) return false;
    found = index;
    return !object.versions || !(object.versions[index] & kHiddenVersion);
  };
  if (object.gnu_hash) {
    const GnuHash table(object.gnu_hash);
    const uint32_t hash = gnu_hash_of(name);
    if (table.bucket_count == 0 || table.bloom_words == 0 || !table.may_contain(hash)) return 0;
    uint32_t index = table.buckets[hash % table.bucket_count];
    if (index < table.first_symbol) return 0;
    for (;; ++index) {
      const uint32_t entry = table.chains[index - table.first_symbol];
      if ((entry | 1) == (hash | 1) && is_default(index)) break;
      if (entry & 1) break;
    }
  } else if (object.sysv_hash && object.sysv_hash[0] != 0) {
    const uint32_t bucket_count = object.sysv_hash[0];
    const uint32_t* buckets = object.sysv_hash + 2;
    const uint32_t* chains = buckets + bucket_count;
    for (uint32_t i = buckets[sysv_hash_of(name) % bucket_count]; i != STN_UNDEF && !is_default(i); i = chains[i]) {
    }
  }
  return found;
}

// GNU hash tables leave out the first symbols: references, most of them.
uint32_t unhashed_end(const LoadedObject& object) { return object.gnu_hash ? object.gnu_hash[1] : 0; }

const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Where it lies. Its dynamic section, or null.
const ElfW(Dyn) * find_segments(const dl_phdr_info& info, LoadedObject& object) {
  object.path = info.dlpi_name;
  object.tls_module = info.dlpi_tls_modid;
  object.bias = info.dlpi_addr;
  object.begin = UINT64_MAX;
  const ElfW(Dyn)* dynamic = nullptr;
  for (size_t i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uint64_t begin = object.bias + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      if (begin < object.begin) object.begin = begin;
      if (begin + header.p_memsz > object.end) object.end = begin + header.p_memsz;
    } else if (header.p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    } else if (header.p_type == PT_TLS) {
      object.tls_bytes = header.p_memsz;
    } else if (header.p_type == PT_GNU_RELRO) {
      object.relro_begin = begin;
      object.relro_end = begin + header.p_memsz;
    }
  }
  return dynamic;
}

void read_dynamic(const ElfW(Dyn) * dynamic, LoadedObject& object) {
  // glibc has added the load bias already, but for objects whose dynamic section is read-only (the vdso).
  const auto pointer = [&](const ElfW(Dyn) * entry) {
    const uint64_t value = entry->d_un.d_ptr;
    return value < object.begin ? value + object.bias : value;
  };
  size_t plt_bytes = 0;
  const ElfW(Dyn)* soname = nullptr;
  size_t relocation_bytes = 0;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        object.symbols = reinterpret_cast<const ElfW(Sym)*>(pointer(entry));
        break;
      case DT_STRTAB:
        object.strings = reinterpret_cast<const char*>(pointer(entry));
        break;
      case DT_GNU_HASH:
        object.gnu_hash = reinterpret_cast<const uint32_t*>(pointer(entry));
        break;
      case DT_HASH:
        object.sysv_hash = reinterpret_cast<const uint32_t*>(pointer(entry));
        break;
      case DT_VERSYM:
        object.versions = reinterpret_cast<const ElfW(Versym)*>(pointer(entry));
        break;
      case DT_SONAME:
        soname = entry;
        break;
      case DT_VERNEED:
        object.version_needs = reinterpret_cast<const ElfW(Verneed)*>(pointer(entry));
        break;
      case DT_JMPREL:
        object.plt_relocations = reinterpret_cast<const ElfW(Rela)*>(pointer(entry));
        break;
      case DT_PLTRELSZ:
        plt_bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        object.relocations = reinterpret_cast<const ElfW(Rela)*>(pointer(entry));
        break;
      case DT_RELASZ:
        relocation_bytes = entry->d_un.d_val;
        break;
      case DT_RELACOUNT:
        object.relative_count = entry->d_un.d_val;
        break;
      case DT_SYMBOLIC:
        object.symbolic = true;
        break;
      case DT_FLAGS:
        object.symbolic |= (entry->d_un.d_val & DF_SYMBOLIC) != 0;
        break;
      default:
        break;
    }
  }
  if (soname && object.strings) object.soname = object.strings + soname->d_un.d_val;
  if (object.plt_relocations) object.plt_relocation_count = plt_bytes / sizeof(ElfW(Rela));
  if (object.relocations) object.relocation_count = relocation_bytes / sizeof(ElfW(Rela));
  if (!object.strings || !(object.gnu_hash || object.sysv_hash)) object.symbols = nullptr;
}

LoadedObject parse(const dl_phdr_info& info) {
  LoadedObject object;
  if (const ElfW(Dyn)* dynamic = find_segments(info, object)) read_dynamic(dynamic, object);
  return object;
}

// Of the preload itself, or of all others.
void visit_objects_of(bool preload, FunctionRef<bool(const LoadedObject& object)> visit) {
  static const char inside_the_preload = 0;
  walk_loaded_objects([&](const dl_phdr_info& info) {
    const LoadedObject object = parse(info);
    if (!object || object.contains(&inside_the_preload) != preload) return 0;
    return visit(object) ? 0 : 1;
  });
}

}  // namespace

void* LoadedObject::find(const char* name) const {
  if (!symbols) return nullptr;
  const uint32_t index = hashed_index(*this, name, true);
  return index == 0 ? nullptr : reinterpret_cast<void*>(bias + symbols[index].st_value);
}

uint32_t LoadedObject::symbol_index(const char* name) const {
  if (!symbols) return 0;
  if (const uint32_t index = hashed_index(*this, name, false)) return index;
  const uint32_t end_of_unhashed = unhashed_end(*this);
  for (uint32_t index = 1; index < end_of_unhashed; ++index) {
    if (strcmp(strings + symbols[index].st_name, name) == 0) return index;
  }
  return 0;
}

// The dynamic section has no count: the last chain of the hash table ends at the last symbol.
uint32_t LoadedObject::symbol_count() const {
  if (!symbols) return 0;
  if (sysv_hash) return sysv_hash[1];
  const GnuHash table(gnu_hash);
  uint32_t last = 0;
  for (uint32_t i = 0; i < table.bucket_count; ++i) last = last > table.buckets[i] ? last : table.buckets[i];
  if (last < table.first_symbol) return table.first_symbol;
  while ((table.chains[last - table.first_symbol] & 1) == 0) ++last;
  return last + 1;
}

const char* LoadedObject::wanted_library(uint32_t index) const {
  if (!versions || !version_needs) return nullptr;
  const ElfW(Versym) wanted = versions[index] & ~kHiddenVersion;
  for (const ElfW(Verneed)* need = version_needs;;) {
    const auto* bytes = reinterpret_cast<const char*>(need);
    const auto* version = reinterpret_cast<const ElfW(Vernaux)*>(bytes + need->vn_aux);
    for (unsigned i = 0; i < need->vn_cnt; ++i) {
      if (version->vna_other == wanted) return strings + need->vn_file;
      version = reinterpret_cast<const ElfW(Vernaux)*>(reinterpret_cast<const char*>(version) + version->vna_next);
    }
    if (need->vn_next == 0) return nullptr;
    need = reinterpret_cast<const ElfW(Verneed)*>(bytes + need->vn_next);
  }
}

bool LoadedObject::file_name_begins_with(const char* prefix) const {
  return strncmp(file_name(path), prefix, strlen(prefix)) == 0;
}

void visit_objects(FunctionRef<bool(const LoadedObject& object)> visit) { visit_objects_of(false, visit); }

LoadedObject own_object() {
  LoadedObject own;
  visit_objects_of(true, [&](const LoadedObject& object) {
    own = object;
    return false;
  });
  return own;
}

LoadedObject find_object(const char* basename_prefix) {
  LoadedObject found;
  visit_objects([&](const LoadedObject& object) {
    // The executable is the one without a name.
    if (*basename_prefix ? !object.file_name_begins_with(basename_prefix) : *object.path != 0) return true;
    found = object;
    return false;
  });
  return found;
}

void* find_in_any_object(const char* name) {
  void* found = nullptr;
  visit_objects([&](const LoadedObject& object) {
    found = object.find(name);
    return found == nullptr;
  });
  return found;
}

}  // namespace tensorscope
