// SPDX-License-Identifier: Apache-2.0
#include "process/mapped_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "process/object_maps.h"
#include "support/opened_elf.h"
#include "support/process_file.h"

namespace tensorscope::process {

namespace {

using analyzer::OpenedElf;

std::string path_for_us(pid_t pid, const std::string& path) { return fmt::format("/proc/{}/root{}", pid, path); }

// Value of an exported symbol, 0: none.
uint64_t symbol_value(const OpenedElf& elf, const char* name) {
  uint64_t found = 0;
  elf.for_each_section(SHT_DYNSYM, [&](Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = elf_getdata(section, nullptr);
    // libelf knows how many there are; the header of a damaged file may say entries of 0 bytes.
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      if (symbol.st_shndx == SHN_UNDEF) continue;
      const char* text = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
      if (text != nullptr && strcmp(text, name) == 0) found = symbol.st_value;
    }
  });
  return found;
}

// What is to be added to an address of the file, where it is mapped.
uint64_t bias_of(const OpenedElf& elf, uint64_t begin, uint64_t offset) {
  size_t count = 0;
  if (elf.get() == nullptr || elf_getphdrnum(elf.get(), &count) != 0) return 0;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf.get(), int(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
    return begin - offset - (header.p_vaddr - header.p_offset);
  }
  return 0;
}

}  // namespace

MappedFiles::MappedFiles(pid_t pid) : pid_(pid) {
  for (const Mapping& mapping : object_mappings(analyzer::read_process_file(pid, "maps").value_or(""))) {
    if (!mapping.name.starts_with('/')) continue;
    files_.emplace(mapping.name, Mapped{mapping.begin, mapping.offset, mapping.name});
  }
}

const MappedFiles::Mapped* MappedFiles::find(const std::vector<std::string>& prefixes) const {
  for (const std::string& prefix : prefixes) {
    for (const auto& [path, mapped] : files_) {
      if (path.compare(path.rfind('/') + 1, prefix.size(), prefix) == 0) return &mapped;
    }
  }
  return nullptr;
}

uint64_t MappedFiles::function(const std::vector<std::string>& libraries, const char* name) const {
  for (const std::string& library : libraries) {
    const Mapped* mapped = find({library});
    if (mapped == nullptr) continue;
    const OpenedElf elf(path_for_us(pid_, mapped->path));
    if (const uint64_t value = symbol_value(elf, name)) return bias_of(elf, mapped->begin, mapped->offset) + value;
  }
  return 0;
}

uint64_t MappedFiles::code_with(const std::vector<std::string>& library, const std::string& bytes) const {
  const Mapped* mapped = find(library);
  if (mapped == nullptr) return 0;
  const OpenedElf elf(path_for_us(pid_, mapped->path));
  uint64_t found = 0;
  elf.for_each_section(SHT_PROGBITS, [&](Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = (header.sh_flags & SHF_EXECINSTR) != 0 && found == 0 ? elf_getdata(section, nullptr) : nullptr;
    if (data == nullptr) return;
    const auto* begin = static_cast<const char*>(data->d_buf);
    const auto* end = begin + data->d_size;
    const auto* at = std::search(begin, end, bytes.begin(), bytes.end());
    if (at != end) found = bias_of(elf, mapped->begin, mapped->offset) + header.sh_addr + uint64_t(at - begin);
  });
  return found;
}

}  // namespace tensorscope::process
