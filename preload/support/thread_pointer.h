// SPDX-License-Identifier: Apache-2.0
// A pointer that a library keeps in a thread-local variable of its own, which it does not export. Where the variable
// lies among those of the library is learnt from what a function of the library says is in it: the only word that held
// the same each time. Reading it then costs a load instead of a call.
//
// Context: hook. Reads the calling thread's own variables only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/locks/spin_lock.h"

namespace tensorscope {

// The calling thread's copies of a library's variables.
struct ThreadVariables {
  const uintptr_t* words = nullptr;
  size_t count = 0;
};
// `module` and `bytes`: LoadedObject::tls_module and tls_bytes; the library stays loaded. Made where the thread has
// none yet, as by the library's own first use.
ThreadVariables thread_variables(size_t module, size_t bytes);

class ThreadPointerFinder {
 public:
  static constexpr int kEnough = 16;          // pointers that must have agreed, and as many times null
  static constexpr size_t kMaxWords = 16384;  // of a library

  constexpr ThreadPointerFinder() = default;

  // Whether anything can be learnt from what the function said: not from null before a pointer has been seen.
  bool wants(uintptr_t said) const {
    return !gave_up() && (said != 0 || pointers_.load(std::memory_order_relaxed) != 0);
  }
  // What the function just said; nothing is learnt while another thread is here.
  void add(const ThreadVariables& variables, uintptr_t said);
  // In words; negative: not known.
  int offset() const { return offset_.load(std::memory_order_acquire); }
  // What was learnt was wrong, or nothing can be: never again.
  void give_up();
  bool gave_up() const { return gave_up_.load(std::memory_order_relaxed); }

 private:
  void settle(size_t count);

  SpinLock lock_;  // only ever tried
  std::atomic<int> offset_{-1};
  std::atomic<bool> gave_up_{false};
  std::atomic<int> pointers_{0};
  int nulls_ = 0;
  uint64_t possible_[kMaxWords / 64] = {};  // a bit a word
};

}  // namespace tensorscope
