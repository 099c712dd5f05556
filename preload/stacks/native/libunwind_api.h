// SPDX-License-Identifier: Apache-2.0
// What is used of libunwind's interface for unwinding with one's own accessors ("remote" unwinding), declared here so
// that no header of libunwind is needed to build.
//
// Source: libunwind 1.3 to 1.8, include/libunwind-common.h.in, libunwind-dynamic.h, libunwind-x86_64.h. Structures that
// later versions made larger have room for that here.
//
// Context: any: declarations alone.
#pragma once

#include <cstdint>

namespace tensorscope::stacks::libunwind {

using Word = uint64_t;
using AddressSpace = struct unw_addr_space*;

// unw_cursor_t: 127 words (UNW_TDEP_CURSOR_LEN).
struct Cursor {
  Word words[256];
};

// unw_proc_info_t: ten words. Only handed through.
struct ProcInfo;

// Registers by DWARF's numbers.
inline constexpr int kRbx = 3, kRbp = 6, kRsp = 7, kR12 = 12, kRip = 16, kRegisters = 17;

// Errors are returned negative.
inline constexpr int kSuccess = 0, kBadRegister = -3, kReadOnlyRegister = -4, kInvalid = -8, kNoInfo = -10;

// unw_accessors_t.
struct Accessors {
  int (*find_proc_info)(AddressSpace, Word ip, ProcInfo*, int need_unwind_info, void* argument);
  void (*put_unwind_info)(AddressSpace, ProcInfo*, void* argument);
  int (*get_dyn_info_list_addr)(AddressSpace, Word*, void* argument);
  int (*access_mem)(AddressSpace, Word address, Word* value, int write, void* argument);
  int (*access_reg)(AddressSpace, int number, Word* value, int write, void* argument);
  void* rest[16];  // never called for a walk: floating-point registers, resuming, names
};

// unw_dyn_info_t of a table that is read through the accessors.
struct TableInfo {
  void* list[2];
  Word begin, end, global_pointer;
  int32_t format;
  int32_t padding;
  Word rest[8];

  static constexpr int32_t kFormat = 2;  // UNW_INFO_FORMAT_REMOTE_TABLE
  // Where the table is described in `rest`: 1.6 put a word before it.
  enum Version : uint8_t { since_1_6, before_1_6 };
  void describe(Version version, Word segment_base, Word table, Word table_words) {
    Word* const fields = rest + (version == since_1_6 ? 1 : 0);
    fields[0] = 0;  // name
    fields[1] = segment_base;
    fields[2] = table_words;
    fields[3] = table;
  }
};

struct Functions {
  AddressSpace (*create_addr_space)(Accessors*, int byte_order);
  int (*init_remote)(Cursor*, AddressSpace, void* argument);
  int (*step)(Cursor*);
  int (*get_reg)(Cursor*, int number, Word* value);
  int (*dwarf_search_unwind_table)(AddressSpace, Word ip, TableInfo*, ProcInfo*, int need_unwind_info, void* argument);
  int (*set_caching_policy)(AddressSpace, int policy);
  int (*set_cache_size)(AddressSpace, uintptr_t size, int flags);
  void (*flush_cache)(AddressSpace, Word low, Word high);
};
inline constexpr int kCacheGlobal = 1;  // UNW_CACHE_GLOBAL

}  // namespace tensorscope::stacks::libunwind
