#include "devices/cupti/limited_work.h"

#include <pthread.h>

#include "support/helper_thread.h"
#include "support/state.h"

namespace tensorscope::cupti {

namespace {
constexpr size_t kStackBytes = size_t{1} << 20;
}

bool LimitedWork::run(void (*work)(), uint64_t limit_ns) {
  if (!busy_.lock_within(0)) return false;
  work_ = work;
  if (!start_helper_thread(kStackBytes, run_thread, this, nullptr, Descriptors::of_program)) {
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

}  // namespace tensorscope::cupti
