#include "cupti/limited_work.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/clock.h"
#include "support/state.h"

namespace tensorscope::cupti {

namespace {
constexpr size_t kStackBytes = size_t{1} << 20;
}

bool LimitedWork::run(void (*work)(), uint64_t limit_ns) {
  if (busy_.exchange(1, std::memory_order_acquire) != 0) return false;
  work_ = work;
  if (!start_thread()) {
    busy_.store(0, std::memory_order_release);
    return false;
  }
  const uint64_t end = monotonic_ns() + limit_ns;
  while (busy_.load(std::memory_order_acquire) != 0) {
    const uint64_t now = monotonic_ns();
    if (now >= end) return false;
    const uint64_t left = end - now;
    const timespec at_most = {time_t(left / 1'000'000'000), long(left % 1'000'000'000)};
    syscall(SYS_futex, &busy_, FUTEX_WAIT_PRIVATE, 1, &at_most, nullptr, 0);
  }
  return true;
}

void* LimitedWork::run_thread(void* self) {
  ++t_inside;  // for good: nothing that this thread causes is recorded
  pthread_setname_np(pthread_self(), "tensorscope-cu");
  auto* work = static_cast<LimitedWork*>(self);
  work->work_();
  work->busy_.store(0, std::memory_order_release);
  syscall(SYS_futex, &work->busy_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  return nullptr;
}

bool LimitedWork::start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool made = pthread_create(&thread, &attributes, run_thread, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return made;
}

}  // namespace tensorscope::cupti
