// SPDX-License-Identifier: Apache-2.0
// Objects that a thread has of its own and that end with it: threads of a program come and go.
//
// Context: hook. The objects are deleted while the thread ends, without Python's lock. One key of thread-specific data
// for all of them; where there is none, or no memory, they stay.
#pragma once

namespace tensorscope::torch_events {

void start_thread_ends();

// end(object) when the calling thread ends.
void at_thread_end(void (*end)(void*), void* object);

// `mine`: a thread_local, which is null again once its object is deleted.
template <typename T>
void delete_at_thread_end(T*& mine) {
  at_thread_end(
      [](void* place) {
        T*& ended = *static_cast<T**>(place);
        delete ended;
        ended = nullptr;
      },
      &mine);
}

}  // namespace tensorscope::torch_events
