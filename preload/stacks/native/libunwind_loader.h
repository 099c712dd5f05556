// libunwind, opened privately: RTLD_LOCAL, so that its exported `_Unwind_*` never stand before libgcc's in the target.
//
// Context: `open` in activation; the functions in any context, each call under a LibunwindCall. They take the loader's
// list lock (dl_iterate_phdr) and libunwind's own where an address is new to libunwind, so they are for cold frames,
// for frames that the rule table cannot express, and for checking.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorscope::stacks {

class Libunwind {
 public:
  // Beside this library first, then by the system. False: not there, or not one with unw_backtrace (1.3 and newer).
  bool open();
  bool usable() const { return backtrace_.load(std::memory_order_acquire) != nullptr; }

  // Return addresses of the calling thread, innermost first, this function's own frame included. 0 where not usable.
  int backtrace(void** addresses, int size);

  // Forgets what libunwind has cached about the loaded objects.
  void flush();

  // libunwind's caches are guarded by locks that a fork copies as they are. Where another thread was inside at that
  // moment, the child must never call it again. True: still usable.
  bool after_fork_in_child();

 private:
  using Backtrace = int (*)(void**, int);
  using FlushCache = void (*)(void* address_space, uintptr_t low, uintptr_t high);
  std::atomic<Backtrace> backtrace_{nullptr};
  FlushCache flush_cache_ = nullptr;
  void* local_address_space_ = nullptr;
  std::atomic<uint32_t> inside_{0};
};

}  // namespace tensorscope::stacks
