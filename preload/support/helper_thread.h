// A thread of the profiler's own: no signal of the program is ever handled on it.
//
// Context: any thread but hooks and signal handlers.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace tensorscope {

// `stack_bytes` includes the thread's static TLS, as glibc counts. False: no thread can be had. `thread` null: nobody
// joins it.
[[nodiscard]] bool start_helper_thread(size_t stack_bytes, void* (*function)(void*), void* argument,
                                       pthread_t* thread = nullptr);

}  // namespace tensorscope
