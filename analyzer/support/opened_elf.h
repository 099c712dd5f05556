// SPDX-License-Identifier: Apache-2.0
// An ELF file that is open for reading, by libelf.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <string>

namespace tensorscope::analyzer {

class OpenedElf {
 public:
  explicit OpenedElf(const std::string& path);
  ~OpenedElf();
  OpenedElf(const OpenedElf&) = delete;
  OpenedElf& operator=(const OpenedElf&) = delete;

  // Null where there is no such file, or it is no ELF file.
  Elf* get() const { return elf_; }

  // visit(section, header) for each section of the type (SHT_*).
  template <typename Visit>
  void for_each_section(uint32_t type, Visit visit) const {
    for (Elf_Scn* section = nullptr; elf_ != nullptr && (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type) visit(section, header);
    }
  }

 private:
  int descriptor_ = -1;
  Elf* elf_ = nullptr;
};

}  // namespace tensorscope::analyzer
