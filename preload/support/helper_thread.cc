#include "support/helper_thread.h"

#include "support/signals_blocked.h"

namespace tensorscope {

bool start_helper_thread(size_t stack_bytes, void* (*function)(void*), void* argument, pthread_t* thread) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  if (thread == nullptr) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t started;
  const SignalsBlocked inherited;
  const bool made = pthread_create(thread != nullptr ? thread : &started, &attributes, function, argument) == 0;
  pthread_attr_destroy(&attributes);
  return made;
}

}  // namespace tensorscope
