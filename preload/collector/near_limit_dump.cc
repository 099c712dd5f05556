// SPDX-License-Identifier: Apache-2.0
// A dump near a limit of memory, for a thread that waits as long as it may.
#include "collector/near_limit_dump.h"

#include <atomic>

#include "collector/collector_thread.h"
#include "collector/jobs.h"
#include "dump/failure.h"
#include "python/gil_thread.h"
#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::collector {

namespace {

// What a thread waits for whose wait may be given up: outlives that.
struct NearLimit {
  Waiter waiter;
  dump::Failure failure;
  SpinLock taken;  // only ever tried
  std::atomic<bool> given_up{false};

  // The lock goes to whoever leaves last, the thread that waits or the one that is waited for.
  bool take() NO_THREAD_SAFETY_ANALYSIS {
    if (taken.try_lock()) return true;
    bool was_given_up = true;
    return waiter.done.load(std::memory_order_acquire) != 0 && given_up.compare_exchange_strong(was_given_up, false);
  }
  void leave() NO_THREAD_SAFETY_ANALYSIS {
    if (waiter.done.load(std::memory_order_acquire) != 0) {
      taken.unlock();
    } else {
      given_up.store(true, std::memory_order_release);
    }
  }
};
constinit NearLimit g_near_limit;
FreshInChild g_fresh_near_limit{g_near_limit};

}  // namespace

void write_near_limit(const dump::Failure& near, unsigned milliseconds) {
  Waiter& waiter = g_near_limit.waiter;
  if (!g_near_limit.take()) return;
  python::LentGil gil;
  g_near_limit.failure = near;
  waiter.request = near_limit_request(g_near_limit.failure);
  waiter.next = nullptr;
  waiter.done.store(0, std::memory_order_relaxed);
  if (!queue(waiter)) {
    waiter.done.store(1, std::memory_order_relaxed);  // no other thread writes here
    return g_near_limit.leave();
  }
  const python::Deadline until = python::Deadline::in_ms(milliseconds);
  if (gil) {
    gil.run_jobs_until(waiter.done, until);
  } else {
    while (waiter.done.load(std::memory_order_acquire) == 0 && futex_wait_until(waiter.done, 0, until.ns)) {
    }
  }
  g_near_limit.leave();
}

}  // namespace tensorscope::collector
