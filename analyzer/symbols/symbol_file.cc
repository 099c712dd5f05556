// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbol_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "symbols/function_names.h"

namespace tensorscope::analyzer {

namespace {

std::string hex(const unsigned char* bytes, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; i++) {
    out += "0123456789abcdef"[bytes[i] >> 4];
    out += "0123456789abcdef"[bytes[i] & 15];
  }
  return out;
}

// The linkage name, which has the scopes in it; "" where there is none (C, and the copies of constructors).
std::string linkage_name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (const char* text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute)))
      return readable_function(text);
  }
  return "";
}

std::string plain_name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return text ? text : "";
}

// A source file as its unit names it; relative names are of the folder where the compiler ran.
std::string source_path(Dwarf_Die* unit, const char* name) {
  if (!name) return "";
  Dwarf_Attribute attribute;
  const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  if (name[0] == '/' || !folder) return name;
  return (std::filesystem::path(folder) / name).lexically_normal();
}

}  // namespace

struct SymbolFile::Impl {
  struct Symbol {
    uint64_t value, size;
    uint32_t name;    // offset in the string table of its section
    uint8_t section;  // index into Impl::string_sections
    uint8_t rank;     // the better name of two at one address has the smaller one
  };

  struct UnitRange {
    uint64_t begin, end;
    Dwarf_Off unit;
  };

  explicit Impl(RegularFile file) : file(std::move(file)) {}
  ~Impl() {
    if (dwarf) dwarf_end(dwarf);
    if (elf) elf_end(elf);
  }

  RegularFile file;
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;
  std::string build_id;
  bool full_table = false, indexed = false;
  std::vector<size_t> string_sections;
  std::vector<Symbol> symbols;   // by value
  std::vector<UnitRange> units;  // by begin

  void index();
  void index_symbols();
  void index_units();
  std::vector<CodePlace> from_dwarf(uint64_t address);
  std::string from_symbols(uint64_t address) const;
};

SymbolFile::SymbolFile() = default;
SymbolFile::~SymbolFile() = default;

std::unique_ptr<SymbolFile> SymbolFile::open(RegularFile file) {
  char magic[SELFMAG] = {};
  if (!file || pread(file.fd(), magic, SELFMAG, 0) != SELFMAG || std::memcmp(magic, ELFMAG, SELFMAG) != 0) {
    return nullptr;
  }
  elf_version(EV_CURRENT);
  auto impl = std::make_unique<Impl>(std::move(file));
  impl->elf = elf_begin(impl->file.fd(), ELF_C_READ_MMAP, nullptr);
  if (!impl->elf || elf_kind(impl->elf) != ELF_K_ELF) return nullptr;
  const void* id = nullptr;
  ssize_t size = dwelf_elf_gnu_build_id(impl->elf, &id);
  if (size > 0) impl->build_id = hex(static_cast<const unsigned char*>(id), size_t(size));
  auto out = std::unique_ptr<SymbolFile>(new SymbolFile);
  out->impl_ = std::move(impl);
  return out;
}

const std::string& SymbolFile::build_id() const { return impl_->build_id; }

void SymbolFile::Impl::index() {
  if (indexed) return;
  indexed = true;
  dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  index_symbols();
  index_units();
}

void SymbolFile::Impl::index_symbols() {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section))) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) full_table = true;
  }
  while ((section = elf_nextscn(elf, section))) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)) continue;
    if (header.sh_type == SHT_DYNSYM && full_table) continue;  // the full table has them all
    Elf_Data* data = elf_getdata(section, nullptr);
    if (!data || header.sh_entsize == 0 || string_sections.size() > 250) continue;
    const auto strings = uint8_t(string_sections.size());
    string_sections.push_back(header.sh_link);
    const size_t count = data->d_size / header.sh_entsize;
    symbols.reserve(symbols.size() + count);
    for (size_t i = 0; i < count; i++) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, int(i), &symbol) || symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
      int type = GELF_ST_TYPE(symbol.st_info), binding = GELF_ST_BIND(symbol.st_info);
      if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
      uint8_t rank = uint8_t((type == STT_NOTYPE ? 8 : 0) + (symbol.st_size == 0 ? 4 : 0) +
                             (binding == STB_GLOBAL ? 0
                              : binding == STB_WEAK ? 1
                                                    : 2));
      symbols.push_back({symbol.st_value, symbol.st_size, uint32_t(symbol.st_name), strings, rank});
    }
  }
  std::sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) {
    return a.value != b.value ? a.value < b.value : a.rank != b.rank ? a.rank < b.rank : a.name < b.name;
  });
  auto same = [](const Symbol& a, const Symbol& b) { return a.value == b.value; };
  symbols.erase(std::unique(symbols.begin(), symbols.end(), same), symbols.end());
}

// The units' own ranges: .debug_aranges is optional and clang leaves it out.
void SymbolFile::Impl::index_units() {
  if (!dwarf) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  uint8_t type = 0;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
      if (begin < end) units.push_back({begin, end, dwarf_dieoffset(&die)});
    }
  }
  std::sort(units.begin(), units.end(), [](const UnitRange& a, const UnitRange& b) { return a.begin < b.begin; });
}

std::vector<CodePlace> SymbolFile::Impl::from_dwarf(uint64_t address) {
  auto after = std::upper_bound(units.begin(), units.end(), address,
                                [](uint64_t value, const UnitRange& range) { return value < range.begin; });
  if (after == units.begin() || std::prev(after)->end <= address) return {};
  Dwarf_Die unit;
  if (!dwarf_offdie(dwarf, std::prev(after)->unit, &unit)) return {};

  std::string file;
  int line = 0;
  if (Dwarf_Line* row = dwarf_getsrc_die(&unit, address)) {
    dwarf_lineno(row, &line);
    file = source_path(&unit, dwarf_linesrc(row, nullptr, nullptr));
  }
  std::vector<CodePlace> out;
  // dwarf_getscopes leaves an inlined function for the scopes of its definition; what it is inlined into are the scopes
  // of the innermost entry itself.
  Dwarf_Die *innermost = nullptr, *scopes = nullptr;
  const int count = dwarf_getscopes(&unit, address, &innermost) > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
  std::free(innermost);
  for (int i = 0; i < count; i++) {
    const int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    std::string function = linkage_name_of(&scopes[i]);
    if (function.empty() && tag == DW_TAG_subprogram) function = from_symbols(address);
    if (function.empty()) function = plain_name_of(&scopes[i]);
    out.push_back({function, file, line, tag == DW_TAG_inlined_subroutine});
    if (tag == DW_TAG_subprogram) break;
    // The next function out is where this one was called from.
    file.clear();
    line = 0;
    Dwarf_Attribute attribute;
    Dwarf_Word word = 0;
    Dwarf_Files* files = nullptr;
    if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &word) == 0 &&
        dwarf_getsrcfiles(&unit, &files, nullptr) == 0) {
      file = source_path(&unit, dwarf_filesrc(files, word, nullptr, nullptr));
    }
    if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &word) == 0) line = int(word);
  }
  std::free(scopes);
  if (out.empty() && line > 0) out.push_back({"", file, line, false});
  return out;
}

std::string SymbolFile::Impl::from_symbols(uint64_t address) const {
  auto after = std::upper_bound(symbols.begin(), symbols.end(), address,
                                [](uint64_t value, const Symbol& symbol) { return value < symbol.value; });
  // A function may have a part of another (a clone, a label) inside it: look a few entries back for one that covers it.
  for (int tries = 0; after != symbols.begin() && tries < 8; tries++) {
    --after;
    if (after->size != 0 ? address >= after->value + after->size : tries > 0) continue;
    const char* name = elf_strptr(elf, string_sections[after->section], after->name);
    return name && *name ? readable_function(name) : "";
  }
  return "";
}

std::vector<CodePlace> SymbolFile::look_up(uint64_t address) {
  impl_->index();
  std::vector<CodePlace> places = impl_->from_dwarf(address);
  if (places.empty()) places.push_back({"", "", 0, false});
  if (places.back().function.empty()) places.back().function = impl_->from_symbols(address);
  return places;
}

}  // namespace tensorscope::analyzer
