// SPDX-License-Identifier: Apache-2.0
#include "collector/collector.h"

#include <atomic>

#include "collector/collector_thread.h"
#include "collector/jobs.h"
#include "collector/wake.h"
#include "dump/failure.h"
#include "python/gil_thread.h"
#include "support/call_filter.h"
#include "support/clock.h"
#include "support/locks/futex.h"
#include "support/signals_blocked.h"
#include "support/state.h"
#include "tensorscope/tensorscope.h"

namespace tensorscope::collector {

namespace {

// Where there is no collector, the asking thread stands in for it.
void work_here(Waiter& waiter) {
  if (files_are_filtered()) return;
  const InsideScope inside;
  const SignalsBlocked blocked;
  do_work(waiter);
}

void queue_and_wait(Waiter& waiter) {
  if (!queue(waiter)) return work_here(waiter);
  while (waiter.done.load(std::memory_order_acquire) == 0) futex_wait(waiter.done, 0);
}

}  // namespace

void request_from_signal() {
  note_signal();
  wake_collector();
}

int write_dump_and_wait(Reason reason, const char* detail, char* path_out, size_t path_size, SiteId site) {
  if (path_out != nullptr && path_size > 0) path_out[0] = 0;
  const python::ReleasedGil released;  // the dump's second phase wants it
  Waiter waiter;
  waiter.request = {reason, detail != nullptr ? detail : "", monotonic_ns()};
  waiter.request.site = site;
  waiter.path = path_out;
  waiter.path_size = path_size;
  queue_and_wait(waiter);
  return waiter.ok ? TENSORSCOPE_OK : TENSORSCOPE_FAILED;
}

void run_and_wait(void (*work)()) {
  const python::ReleasedGil released;
  run_at_the_end(work);
}

void run_at_the_end(void (*work)()) {
  const FunctionRef<void()> function(work);
  Waiter waiter;
  waiter.work = &function;
  queue_and_wait(waiter);
}

void wait_until_begun() {
  run_at_the_end([] {});
}

bool write_failure(const dump::Failure& failure) {
  python::LentGil gil;
  Waiter waiter;
  waiter.request = {Reason::out_of_memory, failure.error, failure.failed_ns, &failure};
  if (!queue(waiter)) {
    work_here(waiter);
  } else if (gil) {
    gil.run_jobs_until(waiter.done);
  } else {
    while (waiter.done.load(std::memory_order_acquire) == 0) futex_wait(waiter.done, 0);
  }
  return waiter.ok;
}

void request_at_growth() {
  note_growth();
  wake_collector();
}

}  // namespace tensorscope::collector
