// SPDX-License-Identifier: Apache-2.0
// libunwind, opened privately: RTLD_LOCAL, so that its exported `_Unwind_*` never stand before libgcc's in the target.
//
// It walks with accessors of ours (libunwind_accessors.h) by its library for such walks, libunwind-x86_64.so.8. When it
// is first used, that library opens a pipe all the same; this happens where the pipe is not the program's
// (private_descriptor_table.h).
//
// Context: `open` in activation; the functions in any context. They take libunwind's own locks for a short time, with
// signals blocked, so they are for cold frames, for frames that the rule table cannot express, and for checking.
// errno is left as it was.
#pragma once

#include <atomic>
#include <cstdint>

#include "stacks/native/libunwind_api.h"
#include "support/status.h"

namespace tensorscope::stacks {

class Libunwind {
 public:
  // Beside this library first, then by the system.
  Status open();
  bool usable() const { return usable_.load(std::memory_order_acquire); }

  // Return addresses of the calling thread, innermost first. 0 where not usable. `stack_end`: the end of the thread's
  // stack, where the thread is on it; 0: not known, and the walk is slower.
  int backtrace(void** addresses, int size, uint64_t stack_end);

  // Forgets what libunwind has cached about the loaded objects.
  void flush();

  // libunwind's caches are guarded by locks that a fork copies as they are. Where the fork did not wait for another
  // thread inside (support/locks/loader_walk.h), the child must never call it again. True: still usable.
  bool after_fork_in_child();

 private:
  Status find_functions();
  bool walks_one_frame();
  int walk(void** addresses, int size, uint64_t stack_end);

  libunwind::Functions functions_ = {};
  libunwind::AddressSpace space_ = nullptr;
  libunwind::TableInfo::Version table_version_ = libunwind::TableInfo::since_1_6;
  std::atomic<bool> usable_{false};
};

}  // namespace tensorscope::stacks
