// SPDX-License-Identifier: Apache-2.0
// Which loaded object holds an address, without a lock where the C library can say so.
#include <dlfcn.h>
#include <link.h>

#include "stacks/native/eh_frame.h"
#include "support/locks/loader_walk.h"

namespace tensorscope::stacks {

namespace {

// glibc 2.35 and newer, dlfcn/dlfcn.h and bits/dl_find_object.h (x86-64, aarch64). Looked up by name, so that this
// library also loads with an older one.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  void* link_map;
  void* eh_frame_header;
  unsigned long long reserved[8];
};
using FindObject = int (*)(void* address, FoundObject* result);
constinit FindObject g_find_object = nullptr;

// Whether the object holds the address, and if so its section.
bool look_at_object(const dl_phdr_info& info, uint64_t address, UnwindSection& found) {
  UnwindSection section{nullptr, ~uint64_t{0}, 0};
  bool holds = false;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) section.header = reinterpret_cast<const uint8_t*>(begin);
    if (segment.p_type != PT_LOAD) continue;
    if (begin < section.begin) section.begin = begin;
    if (begin + segment.p_memsz > section.end) section.end = begin + segment.p_memsz;
    holds = holds || address - begin < segment.p_memsz;
  }
  if (holds) found = section;
  return holds;
}

}  // namespace

void start_eh_frame() { g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object")); }

bool find_unwind_section(uint64_t address, UnwindSection& section) {
  if (g_find_object != nullptr) {
    FoundObject found;
    if (g_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
    section = {static_cast<const uint8_t*>(found.eh_frame_header), reinterpret_cast<uint64_t>(found.map_start),
               reinterpret_cast<uint64_t>(found.map_end)};
    return true;
  }
  return find_unwind_section_by_lock(address, section);
}

bool find_unwind_section_by_lock(uint64_t address, UnwindSection& section) {
  return walk_loaded_objects([&](const dl_phdr_info& info) { return int(look_at_object(info, address, section)); }) ==
         1;
}

}  // namespace tensorscope::stacks
