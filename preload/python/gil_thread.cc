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
    pthread_condattr_destroy(&attributes);
    first_ = nullptr;
    thread_ = false;
  }

  GilOutcome run(GilJob* job, Deadline deadline) {
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

  // Until the job is done or the clock says `until_ns`. A mutex is held.
  void wait(const GilJob* job, uint64_t until_ns) {
    const timespec until{time_t(until_ns / 1'000'000'000), long(until_ns % 1'000'000'000)};
    while (job->stage_ != GilJob::Stage::done && monotonic_ns() < until_ns) {
      pthread_cond_timedwait(&finished_, &mutex_, &until);
    }
  }

  bool add(GilJob* job) {
    if (!thread_ && !(thread_ = start_thread())) return false;
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

  void run_all(const Api& api) {
    const Untraced untraced(api);
    const Gil gil = Gil::held(api);
    pthread_mutex_lock(&mutex_);
    while (GilJob* job = first_) {
      first_ = job->next_;
      job->stage_ = GilJob::Stage::running;
      pthread_mutex_unlock(&mutex_);
      job->memory_lasted_ = run_if_memory_lasts([&] { job->run(gil); });
      api.PyErr_Clear();
      pthread_mutex_lock(&mutex_);
      job->stage_ = GilJob::Stage::done;
      if (job->abandoned_) delete job;
      pthread_cond_broadcast(&finished_);
    }
    thread_ = false;  // from here on a new job gets a new thread
    pthread_mutex_unlock(&mutex_);
  }

  pthread_mutex_t mutex_;
  pthread_cond_t finished_;
  GilJob* first_;
  bool thread_;
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
void reset_gil_thread_after_fork() { raw_queue().reset(); }

}  // namespace tensorscope::python
