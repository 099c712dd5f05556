// SPDX-License-Identifier: Apache-2.0
// How libunwind sees the calling thread during one walk: its registers, its memory and the unwind tables of the loaded
// objects, all through functions of ours. So it neither calls the loader under its lock, nor validates memory in its
// own way, for which it keeps a pipe and closes descriptors that it takes for the pipe's.
//
// Memory: the thread's own stack and the tables of the object in question are read directly, everything else by
// process_vm_readv, which cannot fault; where the system refuses that, such memory counts as unreadable.
//
// Context: hook. An object belongs to one walk on one thread.
#pragma once

#include <cstdint>

#include "stacks/native/eh_frame.h"
#include "stacks/native/libunwind_api.h"

namespace tensorscope::stacks {

struct LibunwindTarget {
  LibunwindTarget(const libunwind::Functions& functions, libunwind::TableInfo::Version version)
      : functions(functions), table_version(version) {}

  const libunwind::Functions& functions;
  libunwind::TableInfo::Version table_version;
  // What may be read directly: the part of the thread's stack that is in use; empty where it is not known.
  uint64_t stack_low = 0, stack_high = 0;
  libunwind::Word registers[libunwind::kRegisters] = {};  // those that a call keeps

  // Of the object that the last address was found in.
  UnwindSection section = {};
  // Memory that was copied last.
  static constexpr uint64_t kCopyBytes = 256;
  uint64_t copy_at = 1;
  alignas(8) unsigned char copy[kCopyBytes];
};

// For a walk's argument of type LibunwindTarget*.
libunwind::Accessors libunwind_accessors();

}  // namespace tensorscope::stacks
