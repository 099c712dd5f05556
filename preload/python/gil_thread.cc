// SPDX-License-Identifier: Apache-2.0
#include "python/gil_thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python/heap_inspector/collection_paused.h"
#include "python/untraced.h"
#include "support/clock.h"
#include "support/ended_threads.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/helper_thread.h"
#include "support/locks/futex.h"
#include "support/locks/mutex.h"

namespace tensorscope::python {

namespace {

constexpr uint64_t kGraceNs = 1'000'000'000;  // for a job that has begun to notice its own deadline
constexpr size_t kStackBytes = size_t{2} << 20;

// No collection of garbage begins while a job allocates (CPython up to 3.11 collects there): it would run the program's
// finalizers.
class NoCollection {
 public:
  explicit NoCollection(const Api& api)
      : api_(api), enabled_(api.PyGC_Disable && api.PyGC_Enable && api.PyGC_Disable()) {}
  ~NoCollection() {
    if (enabled_) api_.PyGC_Enable();
  }
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;

 private:
  const Api& api_;
  bool enabled_;
};

// The exception that a thread of the program was about to raise or was clearing up after.
class KeptError {
 public:
  explicit KeptError(const Api& api) : api_(api) { api_.PyErr_Fetch(&type_, &value_, &traceback_); }
  ~KeptError() { api_.PyErr_Restore(type_, value_, traceback_); }
  KeptError(const KeptError&) = delete;
  KeptError& operator=(const KeptError&) = delete;

 private:
  const Api& api_;
  Object* type_ = nullptr;
  Object* value_ = nullptr;
  Object* traceback_ = nullptr;
};

constinit thread_local bool t_lends = false;

}  // namespace

Deadline Deadline::in_ms(unsigned ms) { return {monotonic_ns() + uint64_t(ms) * 1'000'000}; }
bool Deadline::passed() const { return monotonic_ns() >= ns; }

// The jobs that wait for the GIL, and whether the thread that will run them is there. One for the process, never
// destroyed: an abandoned thread may come back to it at any time.
class GilQueue {
 public:
  GilOutcome run(GilJob* job, Deadline deadline, unsigned run_ms) {
    if (t_lends) return run_here(job);
    const MutexGuard guard(mutex_);
    if (!add(job)) return GilOutcome::no_thread;
    wait(job, deadline.ns);
    if (job->stage_ == GilJob::Stage::waiting) {
      remove(job);
      return GilOutcome::no_gil;
    }
    wait(job, job->began_ns_ + uint64_t(run_ms) * 1'000'000 + kGraceNs);
    if (job->stage_ == GilJob::Stage::done) return job->memory_lasted_ ? GilOutcome::done : GilOutcome::no_memory;
    job->abandoned_ = true;
    return GilOutcome::stuck;
  }

  bool post(GilJob* job) {
    const MutexGuard guard(mutex_);
    job->abandoned_ = true;
    if (add(job)) return true;
    delete job;
    return false;
  }

  void begin_lending() {
    const MutexGuard guard(mutex_);
    lender_ = true;
  }

  // Jobs that no other thread ran by then are left to this thread.
  void end_lending() {
    const MutexGuard guard(mutex_);
    lender_ = false;
    if (first_ && !thread_) thread_ = start_thread();
  }

  void lend_until(const std::atomic<uint32_t>& done, Deadline deadline) {
    const Api& api = *known_interpreter();
    const StaysAtFinalization stays;
    const MutexGuard guard(mutex_);
    while (done.load(std::memory_order_acquire) == 0 && !deadline.passed()) {
      if (GilJob* job = first_waited_for()) {
        run_first(job, api);
      } else {
        sleep_until(deadline.ns);
      }
    }
  }

  void wake_lender() {
    const MutexGuard guard(mutex_);
    futex_change_and_wake(changes_);
  }

 private:
  // Until something changes, or the clock says `until_ns`, or for no reason. The mutex is held, but not meanwhile.
  void sleep_until(uint64_t until_ns) REQUIRES(mutex_) {
    const uint32_t seen = changes_.load(std::memory_order_relaxed);
    mutex_.unlock();
    futex_wait_until(changes_, seen, until_ns);
    mutex_.lock();
  }

  // Until the job is done or the clock says `until_ns`; what waits for the GIL, until it begins. The mutex is held.
  void wait(const GilJob* job, uint64_t until_ns) REQUIRES(mutex_) {
    const GilJob::Stage before = job->stage_;
    while (job->stage_ == before && before != GilJob::Stage::done && monotonic_ns() < until_ns) sleep_until(until_ns);
  }

  bool add(GilJob* job) REQUIRES(mutex_) {
    const bool lent = lender_ && !job->abandoned_;
    if (!lent && !interpreter_alive()) return false;
    if (!lent && !thread_ && !(thread_ = start_thread())) return false;
    GilJob** end = &first_;
    while (*end) end = &(*end)->next_;
    *end = job;
    futex_change_and_wake(changes_);
    return true;
  }

  void remove(GilJob* job) REQUIRES(mutex_) {
    for (GilJob** link = &first_; *link; link = &(*link)->next_) {
      if (*link == job) {
        *link = job->next_;
        return;
      }
    }
  }

  // What it calls may run code of the program (an audit hook, a callback), whose files are the program's.
  bool start_thread() {
    return start_helper_thread(kStackBytes, &GilQueue::thread_main, this, nullptr, Descriptors::of_program);
  }

  static void* thread_main(void* queue) {
    pthread_setname_np(pthread_self(), "tensorscope-gil");
    const StaysAtFinalization stays;
    const Api& api = *known_interpreter();
    // It may have ended since the job came. Then there is no state to make one for this thread from.
    if (!interpreter_alive()) return static_cast<GilQueue*>(queue)->leave();
    const int before = api.PyGILState_Ensure();  // at finalization: never returns
    static_cast<GilQueue*>(queue)->run_all(api);
    note_thread_end(pid_t(syscall(SYS_gettid)));  // who waits for the GIL may fork as soon as it has it
    api.PyGILState_Release(before);
    return nullptr;
  }

  // Nobody will ever run the jobs: who waits for one gives it up in time.
  void* leave() {
    const MutexGuard guard(mutex_);
    thread_ = false;
    return nullptr;
  }

  GilJob* first_waited_for() const REQUIRES(mutex_) {
    GilJob* job = first_;
    while (job && job->abandoned_) job = job->next_;
    return job;
  }

  // The calling thread holds the GIL and no mutex.
  static bool work(GilJob* job, const Api& api) {
    const Untraced untraced(api);
    const NoCollection no_collection(api);
    const KeptError kept(api);
    const Gil gil = Gil::held(api);
    // From 3.14 on the interpreter compares addresses with the bounds of its thread's stack.
    const WorkStack stack = api.series >= 314 ? WorkStack::of_thread : WorkStack::mapped;
    const bool lasted = run_or_abandon_on_oom(
        [&] {
          const heap_inspector::CollectionPaused paused(gil);  // before CPython 3.10
          job->run(gil);
        },
        stack);
    api.PyErr_Clear();
    return lasted;
  }

  static GilOutcome run_here(GilJob* job) {
    const StaysAtFinalization stays;
    return work(job, *known_interpreter()) ? GilOutcome::done : GilOutcome::no_memory;
  }

  // A mutex is held, but not during the work.
  void run_first(GilJob* job, const Api& api) REQUIRES(mutex_) {
    remove(job);
    job->stage_ = GilJob::Stage::running;
    job->began_ns_ = monotonic_ns();
    futex_change_and_wake(changes_);
    mutex_.unlock();
    job->memory_lasted_ = work(job, api);
    mutex_.lock();
    job->stage_ = GilJob::Stage::done;
    if (job->abandoned_) delete job;
    futex_change_and_wake(changes_);
  }

  void run_all(const Api& api) {
    const MutexGuard guard(mutex_);
    while (first_) run_first(first_, api);
    thread_ = false;  // from here on a new job gets a new thread
  }

  Mutex mutex_;
  std::atomic<uint32_t> changes_{0};  // of what follows, and of what the lender waits for
  GilJob* first_ GUARDED_BY(mutex_) = nullptr;
  bool thread_ GUARDED_BY(mutex_) = false;
  bool lender_ GUARDED_BY(mutex_) = false;
};

namespace {
constinit GilQueue g_queue;
FreshInChild g_fresh_queue{g_queue};  // who waits for a job, and who runs one, is not in the child
}  // namespace

GilOutcome run_with_gil(GilJob* job, Deadline deadline, unsigned run_ms) { return g_queue.run(job, deadline, run_ms); }
bool post_with_gil(GilJob* job) { return g_queue.post(job); }

LentGil::LentGil() : lent_(!t_lends && holds_gil()) {
  if (!lent_) return;
  t_lends = true;
  g_queue.begin_lending();
}
LentGil::~LentGil() {
  if (!lent_) return;
  g_queue.end_lending();
  t_lends = false;
}
void LentGil::run_jobs_until(const std::atomic<uint32_t>& done, Deadline deadline) {
  g_queue.lend_until(done, deadline);
}
void wake_lender() { g_queue.wake_lender(); }

}  // namespace tensorscope::python
