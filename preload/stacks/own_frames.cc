// SPDX-License-Identifier: Apache-2.0
#include "stacks/own_frames.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

// Set by the linker for the object that holds the reference (ld, lld, mold).
extern "C" {
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern const char etext __attribute__((visibility("hidden")));
}

namespace tensorscope::stacks {

CodeRange find_own_code() {
  const auto begin = reinterpret_cast<uint64_t>(&__ehdr_start);
  if (begin + __ehdr_start.e_phoff == getauxval(AT_PHDR)) return {};
  return {begin, reinterpret_cast<uint64_t>(&etext)};
}

}  // namespace tensorscope::stacks
