// SPDX-License-Identifier: Apache-2.0
#include "oom/failing_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "live/tracker.h"
#include "oom/failure_limits.h"
#include "oom/failure_record.h"
#include "oom/reserve.h"
#include "support/clock.h"
#include "support/coverage.h"
#include "support/locks/spin_lock.h"
#include "support/options.h"
#include "support/system_limits.h"
#include "tensorscope/rules/number_text.h"

namespace tensorscope::oom {

namespace {

constinit WriteFailure g_write = nullptr;

// What the caller can see of the thread is as before.
class Unchanged {
 public:
  Unchanged() : errno_(errno) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_); }
  ~Unchanged() {
    pthread_setcancelstate(cancel_, nullptr);
    errno = errno_;
  }
  Unchanged(const Unchanged&) = delete;
  Unchanged& operator=(const Unchanged&) = delete;

 private:
  int errno_;
  int cancel_ = 0;
};

FailureLimits::Settings settings() { return {options().oom_dumps, uint64_t{options().oom_interval_ms} * 1'000'000}; }

// Under the limits; the reserve is in use where a dump may follow.
bool counts_for_a_dump(dump::Failure& failure) {
  const live::CallContext context = live::call_context();
  failure.site = context.site;
  failure.thread = context.thread;
  failure.node = context.node;
  failure.failed_ns = monotonic_ns();
  live::failure_seen(failure.device, failure.requested);
  FailureLimits::Counts counts;
  const bool dump = g_failure_limits.count(failure.site, failure.failed_ns, settings(), counts);
  failure.failures = counts.failures;
  failure.without_dump = counts.without_dump;
  if (!dump) count_missed(Subject::out_of_memory);
  return dump;
}

// 20 KiB, which a failing thread's stack may not have and which cannot be allocated now. Of two threads that fail at
// the same moment one does not learn its limit.
constinit LimitReader g_failure_reader;
constinit SpinLock g_failure_reader_lock;  // only ever tried

// Finds the limit of the system that has less left than the request. A cgroup's is none of them: it lets malloc
// succeed.
void find_limit(dump::Failure& failure) {
  if (!g_failure_reader_lock.try_lock()) return;
  const SystemMemory memory = g_failure_reader.read();
  g_failure_reader_lock.unlock();
  for (const SystemLimit limit : {SystemLimit::address_space, SystemLimit::data, SystemLimit::machine}) {
    const LimitState* state = memory.find(limit);
    if (state == nullptr || !state->is_set() || state->left >= failure.requested) continue;
    failure.limit = limit;
    failure.limit_bytes = state->limit;
    failure.left_bytes = state->left;
    return;
  }
}

void handle(dump::Failure& failure) {
  const Unchanged unchanged;
  if (options().oom_dumps == 0) return;
  if (!g_failure_limits.more(settings())) {
    counts_for_a_dump(failure);
    return;
  }
  if (failure.kind == dump::Kind::host) find_limit(failure);  // before our own address space is given back
  const ReserveInUse reserve;
  if (counts_for_a_dump(failure)) g_write(failure);
}

}  // namespace

void host_allocation_failed(size_t nbytes) {
  dump::Failure failure;
  failure.kind = dump::Kind::host;
  failure.requested = nbytes;
  failure.error = "c10::alloc_cpu: out of memory";
  handle(failure);
}

void shared_memory_failed() {
  const LimitState shared = shared_memory();
  char error[192] = "no space for shared memory";
  if (shared.is_set()) {
    snprintf(error, sizeof(error), "no space for shared memory in %s: %s left of %s", kSharedMemoryFolder,
             ByteText(shared.left).c_str(), ByteText(shared.limit).c_str());
  }
  dump::Failure failure;
  failure.device = {0, -1};
  failure.limit = SystemLimit::shared_memory;
  failure.limit_bytes = shared.limit;
  failure.left_bytes = shared.left;
  failure.error = error;
  handle(failure);
}

void torch_throws(bool out_of_memory_type, Device device) {
  dump::Failure failure;
  failure.device = device;
  if (take_failure(out_of_memory_type, failure)) handle(failure);
}

void start(WriteFailure write) {
  g_write = write;
  if (options().oom_dumps != 0) hold_reserve();
}

// The parent may have been without its reserve at that moment.
void after_fork_in_child() {
  if (options().oom_dumps != 0) hold_reserve();
}

}  // namespace tensorscope::oom
