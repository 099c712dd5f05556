// SPDX-License-Identifier: Apache-2.0
// Reads the unwind rule of one return address out of the loaded object's own .eh_frame.
//
// Everything it cannot express is `odd`; where no table describes the address, the rule is a `guess`.
//
// Format: System V ABI AMD64 1.0 section 4.2.4, DWARF 5 section 6.4, Linux Standard Base 5.0 Core section 10.6
// (.eh_frame, .eh_frame_hdr).
//
// Context: hook, once an address (a microsecond). No malloc. The object is found by _dl_find_object (glibc 2.35 and
// newer: no lock); before that by dl_iterate_phdr, which takes the lock of the loader's list. glibc holds that lock
// while it links or unlinks an object and during such walks, not while constructors run, so a thread that waits for it
// here waits for no code of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/native/unwind_rule.h"

namespace tensorscope::stacks {

// Where a loaded object is, and its .eh_frame_hdr; null where it has none.
struct UnwindSection {
  const uint8_t* header = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Context: activation. Looks _dl_find_object up.
void start_eh_frame();

// The object that holds `address`; false: none.
bool find_unwind_section(uint64_t address, UnwindSection& section);
bool find_unwind_section_by_lock(uint64_t address, UnwindSection& section);  // where there is no _dl_find_object

// The sorted table of .eh_frame_hdr: pairs of four-byte offsets from the header, of a function and of its description.
struct UnwindTable {
  struct Entry {
    int32_t begin;
    int32_t description;
  };
  const Entry* entries = nullptr;
  size_t count = 0;
};
// False: there is none in the form that every linker writes.
bool find_unwind_table(const UnwindSection& section, UnwindTable& table);

// The rule at the call instruction before `return_address`.
UnwindRule read_unwind_rule(uint64_t return_address);
// The same where the object is known (tests).
UnwindRule read_unwind_rule(const UnwindSection& section, uint64_t call_address);

}  // namespace tensorscope::stacks
