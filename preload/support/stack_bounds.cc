// SPDX-License-Identifier: Apache-2.0
#include "support/stack_bounds.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>

// Of the loader (glibc, elf/rtld.c): the stack pointer with which the program began.
extern "C" __attribute__((weak)) void* __libc_stack_end;

namespace tensorscope {

namespace {

constexpr uint64_t kLargestMainStack = uint64_t{120} << 20;

// Not by the thread's number: in a child that another thread forked, the only thread has a stack of pthread_create's.
StackBounds main_stack() {
  if (&__libc_stack_end == nullptr) return {};
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return {};
  const auto high = reinterpret_cast<uint64_t>(__libc_stack_end);
  return {high - std::min<uint64_t>({limit.rlim_cur, kLargestMainStack, high}), high};
}

StackBounds stack_by_libc() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  StackBounds bounds;
  void* lowest = nullptr;
  size_t size = 0, guard = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &size) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0) {
    bounds = {reinterpret_cast<uint64_t>(lowest) + guard, reinterpret_cast<uint64_t>(lowest) + size};
  }
  pthread_attr_destroy(&attributes);
  return bounds;
}

}  // namespace

StackBounds stack_of_this_thread() {
  const int saved_errno = errno;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  StackBounds bounds = main_stack();
  if (here < bounds.low || here >= bounds.high) bounds = stack_by_libc();
  errno = saved_errno;
  return bounds;
}

}  // namespace tensorscope
