// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/libunwind_accessors.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "support/call_filter.h"

namespace tensorscope::stacks {

namespace {

using libunwind::AddressSpace;
using libunwind::ProcInfo;
using libunwind::Word;

int find_proc_info(AddressSpace space, Word ip, ProcInfo* info, int need_unwind_info, void* argument) {
  auto& target = *static_cast<LibunwindTarget*>(argument);
  UnwindTable table;
  if (!find_unwind_section(ip, target.section) || !find_unwind_table(target.section, table)) {
    target.section = {};
    return libunwind::kNoInfo;
  }
  const auto header = reinterpret_cast<Word>(target.section.header);
  libunwind::TableInfo description = {};
  description.begin = target.section.begin;
  description.end = target.section.end;
  description.format = libunwind::TableInfo::kFormat;
  description.describe(target.table_version, header, reinterpret_cast<Word>(table.entries), table.count);
  return target.functions.dwarf_search_unwind_table(space, ip, &description, info, need_unwind_info, argument);
}

void put_unwind_info(AddressSpace, ProcInfo*, void*) {}
int get_dyn_info_list_addr(AddressSpace, Word*, void*) { return libunwind::kNoInfo; }

bool holds_word(uint64_t begin, uint64_t end, Word address) {
  return address >= begin && address < end && end - address >= sizeof(Word);
}

// Aligned, so that a copy never reaches into a page that is not there for the sake of a word that is.
bool copy_around(LibunwindTarget& target, Word address) {
  const uint64_t at = address & ~(LibunwindTarget::kCopyBytes - 1);
  if (target.copy_at == at) return true;
  target.copy_at = 1;
  const iovec to = {target.copy, sizeof target.copy};
  const iovec from = {reinterpret_cast<void*>(at), sizeof target.copy};
  if (read_own_memory(to, &from, 1) != ssize_t(sizeof target.copy)) return false;
  target.copy_at = at;
  return true;
}

int access_mem(AddressSpace, Word address, Word* value, int write, void* argument) {
  auto& target = *static_cast<LibunwindTarget*>(argument);
  if (write != 0) return libunwind::kInvalid;
  if (holds_word(target.stack_low, target.stack_high, address) ||
      holds_word(target.section.begin, target.section.end, address)) {
    memcpy(value, reinterpret_cast<const void*>(address), sizeof *value);
    return libunwind::kSuccess;
  }
  unsigned char bytes[sizeof(Word)];
  for (size_t i = 0; i < sizeof bytes; ++i) {
    if (!copy_around(target, address + i)) return libunwind::kInvalid;
    bytes[i] = target.copy[(address + i) % LibunwindTarget::kCopyBytes];
  }
  memcpy(value, bytes, sizeof bytes);
  return libunwind::kSuccess;
}

int access_reg(AddressSpace, int number, Word* value, int write, void* argument) {
  const auto& target = *static_cast<const LibunwindTarget*>(argument);
  if (write != 0) return libunwind::kReadOnlyRegister;
  if (number < 0 || number >= libunwind::kRegisters) return libunwind::kBadRegister;
  *value = target.registers[number];
  return libunwind::kSuccess;
}

}  // namespace

libunwind::Accessors libunwind_accessors() {
  return {find_proc_info, put_unwind_info, get_dyn_info_list_addr, access_mem, access_reg, {}};
}

}  // namespace tensorscope::stacks
