// SPDX-License-Identifier: Apache-2.0
// Relocations after which a word of an object holds the address of a symbol (the processor's ELF supplement).
//
// Context: any: constants.
#pragma once

#include <elf.h>
#include <link.h>

namespace tensorscope::hooks {

#if defined(__x86_64__)
constexpr unsigned kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr unsigned kGlobalData = R_X86_64_GLOB_DAT;
constexpr unsigned kWord = R_X86_64_64;
#elif defined(__aarch64__)
constexpr unsigned kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr unsigned kGlobalData = R_AARCH64_GLOB_DAT;
constexpr unsigned kWord = R_AARCH64_ABS64;
#else
#error "tensorscope knows only the relocations of x86-64 and aarch64"
#endif

inline bool holds_an_address(const ElfW(Rela) & relocation) {
  const unsigned type = ELF64_R_TYPE(relocation.r_info);
  return type == kJumpSlot || type == kGlobalData || type == kWord;
}
// A word of the program's data, which it may have changed since: not one of the loader's own slots.
inline bool is_data(const ElfW(Rela) & relocation) { return ELF64_R_TYPE(relocation.r_info) == kWord; }

}  // namespace tensorscope::hooks
