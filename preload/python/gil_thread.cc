#include "python/gil_thread.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "support/clock.h"
#include "support/enough_memory.h"

namespace tensorscope::python {

namespace {

constexpr uint64_t kGraceNs = 1'000'000'000;  // for a job that has begun to notice its own deadline
constexpr size_t kStackBytes = size_t{2} << 20;

// The thread's own state while a job runs: no tool that traces, profiles or monitors the program sees it.
class Untraced {
 public:
  explicit Untraced(const Api& api) : api_(api) {
    if (api_.PyThreadState_EnterTracing) api_.PyThreadState_EnterTracing(api_.PyGILState_GetThisThreadState());
  }
  ~Untraced() {
    if (api_.PyThreadState_LeaveTracing) api_.PyThreadState_LeaveTracing(api_.PyGILState_GetThisThreadState());
  }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  const Api& api_;
};

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
Deadline Deadline::after_part(double part) const {
  const uint64_t now = monotonic_ns();
  return {ns > now ? now + uint64_t(double(ns - now) * part) : ns};
}
bool Deadline::passed() const { return monotonic_ns() >= ns; }

// The jobs that wait for the GIL, and whether the thread that will run them is there. One for the process, never
// destroyed: an abandoned thread may come back to it at any time.
class GilQueue {
 public:
  void reset() {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&finished_, &attributes);
    pthread_cond_init(&lent_, &attributes);
    pthread_condattr_destroy(&attributes);
    first_ = nullptr;
    thread_ = false;
    lender_ = false;
  }

  GilOutcome run(GilJob* job, Deadline deadline) {
    if (t_lends) return run_here(job);
    Lock lock(mutex_);
    if (!add(job)) return GilOutcome::no_thread;
    wait(job, deadline.ns);
    if (job->stage_ == GilJob::Stage::waiting) {
      remove(job);
      return GilOutcome::no_gil;
    }
    wait(job, deadline.ns + kGraceNs);
    if (job->stage_ == GilJob::Stage::done) return job->memory_lasted_ ? GilOutcome::done : GilOutcome::no_memory;
    job->abandoned_ = true;
    return GilOutcome::stuck;
  }

  bool post(GilJob* job) {
    Lock lock(mutex_);
    job->abandoned_ = true;
    if (add(job)) return true;
    delete job;
    return false;
  }

  void begin_lending() {
    Lock lock(mutex_);
    lender_ = true;
  }

  // What nobody has run by then is the thread's.
  void end_lending() {
    Lock lock(mutex_);
    lender_ = false;
    if (first_ && !thread_) thread_ = start_thread();
  }

  void lend_until(const std::atomic<uint32_t>& done, Deadline deadline) {
    const Api& api = *known_interpreter();
    Lock lock(mutex_);
    while (done.load(std::memory_order_acquire) == 0 && !deadline.passed()) {
      if (GilJob* job = first_waited_for()) {
        run_first(job, api);
      } else {
        const timespec until = at(deadline.ns);
        pthread_cond_timedwait(&lent_, &mutex_, &until);
      }
    }
  }

  void wake_lender() {
    Lock lock(mutex_);
    pthread_cond_broadcast(&lent_);
  }

 private:
  class Lock {
   public:
    explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~Lock() { pthread_mutex_unlock(&mutex_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    pthread_mutex_t& mutex_;
  };

  static timespec at(uint64_t ns) { return {time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)}; }

  // Until the job is done or the clock says `until_ns`. A mutex is held.
  void wait(const GilJob* job, uint64_t until_ns) {
    const timespec until = at(until_ns);
    while (job->stage_ != GilJob::Stage::done && monotonic_ns() < until_ns) {
      pthread_cond_timedwait(&finished_, &mutex_, &until);
    }
  }

  bool add(GilJob* job) {
    const bool lent = lender_ && !job->abandoned_;
    if (!lent && !thread_ && !(thread_ = start_thread())) return false;
    if (lent) pthread_cond_broadcast(&lent_);
    GilJob** end = &first_;
    while (*end) end = &(*end)->next_;
    *end = job;
    return true;
  }

  void remove(GilJob* job) {
    for (GilJob** link = &first_; *link; link = &(*link)->next_) {
      if (*link == job) {
        *link = job->next_;
        return;
      }
    }
  }

  bool start_thread() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, &GilQueue::thread_main, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return error == 0;
  }

  static void* thread_main(void* queue) {
    pthread_setname_np(pthread_self(), "tensorscope-gil");
    const Api& api = *known_interpreter();
    const int before = api.PyGILState_Ensure();  // at finalization: ends this thread, or never returns
    static_cast<GilQueue*>(queue)->run_all(api);
    api.PyGILState_Release(before);
    return nullptr;
  }

  GilJob* first_waited_for() const {
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
    const bool lasted = run_if_memory_lasts([&] { job->run(gil); }, stack);
    api.PyErr_Clear();
    return lasted;
  }

  static GilOutcome run_here(GilJob* job) {
    return work(job, *known_interpreter()) ? GilOutcome::done : GilOutcome::no_memory;
  }

  // A mutex is held, but not during the work.
  void run_first(GilJob* job, const Api& api) {
    remove(job);
    job->stage_ = GilJob::Stage::running;
    pthread_mutex_unlock(&mutex_);
    job->memory_lasted_ = work(job, api);
    pthread_mutex_lock(&mutex_);
    job->stage_ = GilJob::Stage::done;
    if (job->abandoned_) delete job;
    pthread_cond_broadcast(&finished_);
  }

  void run_all(const Api& api) {
    pthread_mutex_lock(&mutex_);
    while (first_) run_first(first_, api);
    thread_ = false;  // from here on a new job gets a new thread
    pthread_mutex_unlock(&mutex_);
  }

  pthread_mutex_t mutex_;
  pthread_cond_t finished_;
  pthread_cond_t lent_;  // something for the lender to look at
  GilJob* first_;
  bool thread_;
  bool lender_;
};

namespace {

alignas(GilQueue) char g_queue_memory[sizeof(GilQueue)];
pthread_once_t g_queue_made = PTHREAD_ONCE_INIT;
GilQueue& raw_queue() { return *reinterpret_cast<GilQueue*>(g_queue_memory); }

GilQueue& queue() {
  pthread_once(&g_queue_made, [] { raw_queue().reset(); });
  return raw_queue();
}

}  // namespace

GilOutcome run_with_gil(GilJob* job, Deadline deadline) { return queue().run(job, deadline); }
bool post_with_gil(GilJob* job) { return queue().post(job); }

LentGil::LentGil() : lent_(!t_lends && holds_gil()) {
  if (!lent_) return;
  t_lends = true;
  queue().begin_lending();
}
LentGil::~LentGil() {
  if (!lent_) return;
  queue().end_lending();
  t_lends = false;
}
void LentGil::run_jobs_until(const std::atomic<uint32_t>& done, Deadline deadline) {
  queue().lend_until(done, deadline);
}
void wake_lender() { queue().wake_lender(); }

void reset_gil_thread_after_fork() { raw_queue().reset(); }

}  // namespace tensorscope::python
