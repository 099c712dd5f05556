// SPDX-License-Identifier: Apache-2.0
#include "support/opened_elf.h"

#include <fcntl.h>
#include <unistd.h>

namespace tensorscope::analyzer {

OpenedElf::OpenedElf(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  elf_version(EV_CURRENT);
  if (descriptor_ >= 0) elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
  if (elf_ == nullptr || elf_kind(elf_) == ELF_K_ELF) return;
  elf_end(elf_);
  elf_ = nullptr;
}

OpenedElf::~OpenedElf() {
  if (elf_ != nullptr) elf_end(elf_);
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tensorscope::analyzer
