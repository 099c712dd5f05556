// SPDX-License-Identifier: Apache-2.0
// A thread of the profiler's own: no signal of the program is ever handled on it.
//
// Context: any thread but hooks and signal handlers.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace tensorscope {

// Which descriptor table the thread has: that of who makes it, the program's (programs_side.h), or one that is its own
// and empty (private_descriptor_table.h).
enum class Descriptors : uint8_t { of_maker, of_program, own };

// `stack_bytes` includes the thread's static TLS, as glibc counts. False: no thread can be had. `thread` null: nobody
// joins it. With `own`: false also if the system gives no such table; the maker shares the program's.
[[nodiscard]] bool start_helper_thread(size_t stack_bytes, void* (*function)(void*), void* argument,
                                       pthread_t* thread = nullptr, Descriptors descriptors = Descriptors::of_maker);

// First in the function of such a thread: nothing that it causes is recorded, it has a name (of at most 15 bytes), and
// who counts threads waits for its end (ended_threads.h).
class HelperThreadScope {
 public:
  explicit HelperThreadScope(const char* name);
  ~HelperThreadScope();
  HelperThreadScope(const HelperThreadScope&) = delete;
  HelperThreadScope& operator=(const HelperThreadScope&) = delete;
};

}  // namespace tensorscope
