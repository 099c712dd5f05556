#include "support/own_descriptors.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "support/loaded_object.h"
#include "support/pages.h"
#include "support/signals_blocked.h"

namespace tensorscope {

namespace {

struct Call {
  void (*function)(void*);
  void* argument;
};

int run_call(void* call) {
  static_cast<Call*>(call)->function(static_cast<Call*>(call)->argument);
  return 0;
}

}  // namespace

bool run_with_own_descriptors(void (*function)(void*), void* argument) {
#if defined(__SANITIZE_THREAD__)
  function(argument);  // its runtime takes every clone() for a fork
  return true;
#endif
  // valgrind 3.19 ends a program that makes such a thread ("Valgrind does not support general clone()").
  if (find_object("vgpreload_core")) return false;
  constexpr size_t kStackBytes = size_t{256} << 10;
  // A thread as pthread_create makes it, but for CLONE_FILES. unshare() would do the same from inside a thread, but
  // seccomp filters of containers refuse it.
  constexpr int kFlags =
      CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  auto* stack = static_cast<char*>(map_pages(kStackBytes));
  if (stack == nullptr) return false;
  Call call{function, argument};
  std::atomic<int> thread{0};  // the kernel clears it and wakes its waiters when the thread has ended
  const SignalsBlocked blocked;
  const bool made = clone(run_call, stack + kStackBytes, kFlags, &call, &thread, nullptr, &thread) > 0;
  while (made) {
    const int alive = thread.load(std::memory_order_acquire);
    if (alive == 0) break;
    syscall(SYS_futex, &thread, FUTEX_WAIT, alive, nullptr, nullptr, 0);
  }
  unmap_pages(stack, kStackBytes);
  return made;
}

}  // namespace tensorscope
