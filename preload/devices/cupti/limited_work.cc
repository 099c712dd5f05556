// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/limited_work.h"

#include "support/helper_thread.h"

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
  const HelperThreadScope thread("tensorscope-cu");
  auto* work = static_cast<LimitedWork*>(self);
  work->work_();
  work->busy_.unlock();
  return nullptr;
}

}  // namespace tensorscope::cupti
