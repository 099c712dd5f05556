// SPDX-License-Identifier: Apache-2.0
// The calling thread's PyThreadState, as PyGILState_GetThisThreadState() says it.
//
// Up to CPython 3.13 the interpreter keeps it as thread-specific data (Python/pystate.c, gilstate_tss_get), and glibc
// keeps the data of a thread's first 32 keys in the thread's own block (nptl/descr.h, specific_1stblock), each with the
// sequence number of its key. Reading it there saves three calls. What the slot does not tell is that the key is gone:
// nothing is read any more from the interpreter's exit functions on, nor in a forked child, where the interpreter takes
// a new key.
//
// Context: hook, but for the two that say otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stacks/python/python_interpreter.h"

namespace tensorscope::stacks {

class ThreadState {
 public:
  constexpr explicit ThreadState(const PythonApi& api) : api_(api) {}

  // Null: this thread has none. `until_asked`: zero at the thread's first call; then and at every 251st the function is
  // asked, and what was learnt is given up where it says otherwise.
  const char* of_this_thread(uint32_t& until_asked) {
    const ptrdiff_t place = place_.load(std::memory_order_acquire);
    if (__builtin_expect(place == 0 || until_asked-- == 0, false)) return ask(until_asked);
    const auto* slot = reinterpret_cast<const Slot*>(thread_pointer() + place);
    if (__builtin_expect(slot->state != nullptr && slot->sequence != sequence_, false)) return ask(until_asked);
    return slot->state;
  }

  // Context: a thread of the profiler's own, with the GIL by PyGILState_Ensure(): there no library has kept the state
  // in a key of its own. Once.
  void find();
  // Stops looking for the rest of the process. Context: any.
  void give_up() { place_.store(0, std::memory_order_release); }

 private:
  static constexpr uint32_t kAskEvery = 251;
  static constexpr size_t kSlots = 32;  // PTHREAD_KEY_2NDLEVEL_SIZE

  // struct pthread_key_data (nptl/descr.h)
  struct Slot {
    uintptr_t sequence;
    const char* state;
  };

  static const char* thread_pointer() {
    const char* pointer = nullptr;
#if defined(__x86_64__)
    asm("mov %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
    asm("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
  }
  static const Slot* first_slot();
  [[gnu::noinline]] const char* ask(uint32_t& until_asked);

  const PythonApi& api_;
  std::atomic<ptrdiff_t> place_{0};  // of the slot, from the thread pointer; 0: not known
  uintptr_t sequence_ = 0;
};

}  // namespace tensorscope::stacks
