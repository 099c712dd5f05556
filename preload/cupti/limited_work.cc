#include "cupti/limited_work.h"

#include <pthread.h>
#include <signal.h>

#include "support/state.h"

namespace tensorscope::cupti {

namespace {
constexpr size_t kStackBytes = size_t{1} << 20;
}

bool LimitedWork::run(void (*work)(), uint64_t limit_ns) {
  if (!busy_.lock_within(0)) return false;
  work_ = work;
  if (!start_thread()) {
    busy_.unlock();
    return false;
  }
  if (!busy_.lock_within(limit_ns)) return false;
  busy_.unlock();
  return true;
}

void* LimitedWork::run_thread(void* self) {
  ++t_inside;  // for good: nothing that this thread causes is recorded
  pthread_setname_np(pthread_self(), "tensorscope-cu");
  auto* work = static_cast<LimitedWork*>(self);
  work->work_();
  work->busy_.unlock();
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
