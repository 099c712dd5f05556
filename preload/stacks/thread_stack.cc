// SPDX-License-Identifier: Apache-2.0
#include "stacks/thread_stack.h"

#include <pthread.h>

#include "support/pages.h"
#include "support/stack_bounds.h"

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
  const StackBounds bounds = stack_of_this_thread();
  stack->low = bounds.low;
  stack->high = bounds.high;
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
