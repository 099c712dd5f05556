#include "stacks/thread_stack.h"

#include <errno.h>
#include <pthread.h>

#include "support/pages.h"

namespace tensorscope::stacks {

thread_local ThreadStack* ThreadStack::t_stack = nullptr;

namespace {
pthread_key_t g_key;
bool g_key_made = false;
}  // namespace

bool ThreadStack::start() {
  if (!g_key_made) g_key_made = pthread_key_create(&g_key, destroy) == 0;
  return g_key_made;
}

ThreadStack* ThreadStack::create() {
  auto* stack = static_cast<ThreadStack*>(map_pages(sizeof(ThreadStack)));
  if (stack == nullptr) return nullptr;
  const int saved_errno = errno;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low;
    size_t size;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
      stack->low = reinterpret_cast<uint64_t>(low);
      stack->high = stack->low + size;
    }
    pthread_attr_destroy(&attributes);
  }
  errno = saved_errno;
  if (pthread_setspecific(g_key, stack) != 0) {
    unmap_pages(stack, sizeof(ThreadStack));
    return nullptr;
  }
  return t_stack = stack;
}

void ThreadStack::destroy(void* stack) {
  t_stack = nullptr;
  unmap_pages(stack, sizeof(ThreadStack));
}

}  // namespace tensorscope::stacks
