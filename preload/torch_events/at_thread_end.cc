// SPDX-License-Identifier: Apache-2.0
#include "torch_events/at_thread_end.h"

#include <pthread.h>

#include <new>

#include "support/state.h"

namespace tensorscope::torch_events {

namespace {

struct AtEnd {
  void (*end)(void*);
  void* object;
  AtEnd* next;
};

pthread_key_t g_thread_end_key;
bool g_thread_end_key_made = false;

void end_all(void* first) {
  const InsideScope scope;
  for (auto* each = static_cast<AtEnd*>(first); each != nullptr;) {
    AtEnd* const next = each->next;
    each->end(each->object);
    delete each;
    each = next;
  }
}

}  // namespace

void start_thread_ends() {
  if (!g_thread_end_key_made) g_thread_end_key_made = pthread_key_create(&g_thread_end_key, end_all) == 0;
}

void at_thread_end(void (*end)(void*), void* object) {
  if (!g_thread_end_key_made) return;
  auto* const first = static_cast<AtEnd*>(pthread_getspecific(g_thread_end_key));
  auto* const added = new (std::nothrow) AtEnd{end, object, first};
  if (added != nullptr && pthread_setspecific(g_thread_end_key, added) != 0) delete added;
}

}  // namespace tensorscope::torch_events
