#include "collector/collector.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "collector/all_switch.h"
#include "collector/fork_restart.h"
#include "collector/log_flush.h"
#include "collector/request_file.h"
#include "collector/settings_file.h"
#include "collector/watches.h"
#include "collector/write_dump.h"
#include "dump/failure.h"
#include "dump/fork_gate.h"
#include "python/bridge.h"
#include "python/gil_thread.h"
#include "python/interpreter.h"
#include "recording/recording.h"
#include "stacks/capture.h"
#include "support/call_filter.h"
#include "support/clock.h"
#include "support/coverage.h"
#include "support/ended_threads.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/futex.h"
#include "support/helper_thread.h"
#include "support/message.h"
#include "support/mutex.h"
#include "support/option_values.h"
#include "support/options.h"
#include "support/own_descriptors.h"
#include "support/process_info.h"
#include "support/programs_side.h"
#include "support/signals_blocked.h"
#include "support/spin_lock.h"
#include "support/state.h"
#include "tensorscope/rules/own_handler.h"
#include "tensorscope/rules/request_name.h"
#include "tensorscope/tensorscope.h"
#include "watch/step_dumps.h"
#include "watch/value_store.h"
#include "watch/values_switch.h"
#include "watch/watch.h"

namespace tensorscope::collector {

namespace {

// Phase 1 needs some 64 KiB; the rest is never touched. glibc takes the thread's static TLS out of it, too.
constexpr size_t kCollectorStackBytes = size_t{1} << 20;
constexpr size_t kProgramsSideStackBytes = size_t{512} << 10;

struct Waiter {
  DumpRequest request;
  void (*work)(void*) = nullptr;  // instead of a dump
  void* argument = nullptr;
  char* path = nullptr;  // where the dump's path is wanted
  size_t path_size = 0;
  bool ok = false;
  std::atomic<uint32_t> done{0};
  Waiter* next = nullptr;
};

// A word that changes with every event the collector has to look at; it sleeps while the word stays the same.
std::atomic<uint32_t> g_wake{0};
// What is asked for by counting, and what the collector finds by itself.
struct Requests {
  std::atomic<uint32_t> signals{0};
  uint32_t signals_served = 0;  // collector only, as all but the counts and times
  std::atomic<uint64_t> signal_ns{0};
  std::atomic<uint32_t> growths{0};
  uint32_t growths_served = 0;
  std::atomic<uint64_t> growth_ns{0};
  dump::Failure near;  // a limit that is near
  bool is_near = false;
  Request asked = Request::none;  // dump, top or top_cheap, by a request file
};
constinit Requests g_requests;
FreshInChild g_fresh_requests{g_requests};

constinit Mutex g_control;  // guards what follows; held for moments only, never across a fork
bool g_started = false;     // start_collector() was called
struct ThreadState {
  pthread_t programs_side = 0;  // which makes the collector thread and waits for its end
  bool running = false;
  bool busy = false;      // writing a dump: it may wait for the GIL that the forking thread holds
  bool starting = false;  // not yet ready for its first job
  bool stop = false;
  Waiter* first_waiter = nullptr;
};
constinit ThreadState g_thread;
FreshInChild g_fresh_thread{g_thread};  // neither the collector nor those that wait for it are in the child

// Of the forking thread: threads may fork at the same time.
constinit thread_local bool t_gate_held = false;
constinit thread_local bool t_restart_after_fork = false;

bool write_real_dump(const DumpRequest& request, char* path, size_t path_size) {
  char full[PATH_MAX];
  const bool ok = write_dump(request, full);
  snprintf(path, path_size, "%s", full);
  return ok;
}
DumpFunction g_write = write_real_dump;

// Who asks for a dump while all is stopped is told so; what is written by itself is not missed.
bool write_with_recording(const DumpRequest& request, char* path, size_t path_size) {
  if (dumps_are_off()) {
    const bool asked = request.reason == Reason::signal || request.reason == Reason::call;
    if (asked && !request.passing) say("no dump: stopped by tensorscope stop --all");
    return false;
  }
  recording::flush_now();
  return g_write(request, path, path_size);
}

void write_for_signal() {
  char path[PATH_MAX];
  char detail[kOptionTextBytes];
  const char* signal_name = format_option_value(options().signal, detail);
  const uint64_t asked_ns = g_requests.signal_ns.load(std::memory_order_relaxed);
  write_with_recording({Reason::signal, signal_name, asked_ns}, path, sizeof(path));
}

void write_at_growth() {
  char path[PATH_MAX];
  const uint64_t asked_ns = g_requests.growth_ns.load(std::memory_order_relaxed);
  const DumpRequest request = {Reason::growth, "a new peak of live bytes", asked_ns};
  if (write_with_recording(request, path, sizeof(path))) growth_dump_written(path);
}

DumpRequest near_limit_request(const dump::Failure& near) {
  return {Reason::low_memory, near.error, near.failed_ns, &near};
}

void do_work(Waiter& waiter) {
  if (waiter.work) return waiter.work(waiter.argument);
  char path[PATH_MAX] = "";
  waiter.ok = write_with_recording(waiter.request, path, sizeof(path));
  if (waiter.ok && waiter.path != nullptr && waiter.path_size > 0) snprintf(waiter.path, waiter.path_size, "%s", path);
}

DumpRequest asked_request() {
  const Request asked = std::exchange(g_requests.asked, Request::none);
  const bool top = asked == Request::top || asked == Request::top_cheap;
  DumpRequest request = {Reason::call, top ? rules::kDetailOfTop : "tensorscope snapshot --no-signal", monotonic_ns()};
  request.passing = top;
  request.names = asked != Request::top_cheap;
  return request;
}

void finish_waiting(Waiter& waiter) {
  futex_change_and_wake(waiter.done);  // from here on the waiter may be gone
  python::wake_lender();
}

void serve(Waiter& waiter) {
  do_work(waiter);
  finish_waiting(waiter);
}

enum class Job { none, stop, waiter, near_limit, signal, request, growth };

// What is asked for by counting: one dump serves all that came before it.
bool take_request(const std::atomic<uint32_t>& asked, uint32_t& served) {
  const uint32_t count = asked.load(std::memory_order_acquire);
  return std::exchange(served, count) != count;
}

Job counted_job() {
  if (std::exchange(g_requests.is_near, false)) return Job::near_limit;
  if (take_request(g_requests.signals, g_requests.signals_served)) return Job::signal;
  if (g_requests.asked != Request::none) return Job::request;
  return take_request(g_requests.growths, g_requests.growths_served) ? Job::growth : Job::none;
}

Job next_job(Waiter** waiter) {
  const MutexGuard guard(g_control);
  g_thread.busy = g_thread.starting = false;
  if (g_thread.stop) {
    g_thread.running = false;
    return Job::stop;
  }
  if (g_thread.first_waiter != nullptr) {
    *waiter = g_thread.first_waiter;
    g_thread.first_waiter = g_thread.first_waiter->next;
    g_thread.busy = true;
    return Job::waiter;
  }
  const Job job = counted_job();
  g_thread.busy = job != Job::none;
  return job;
}

// Who asks from outside sees by the thread's name whether the signal would also run a handler of the program's. `shown`
// is the name of this very thread, as it has been since it began.
void show_own_handler(const char*& shown) {
  const char* detail = coverage(Subject::signal_trigger).detail.load(std::memory_order_acquire);
  const char* name = detail == rules::kOwnHandlerRuns ? rules::kCollectorNameOwnHandler : rules::kCollectorName;
  if (std::exchange(shown, name) != name) pthread_setname_np(pthread_self(), name);
}

// Until a job comes. Where torch has been loaded and its Python part is still being imported, that is looked at from
// time to time, since no event reports when it is done.
void wait_for_job(uint32_t seen, unsigned& tries) {
  recording::flush();
  watch::flush();
  write_waiting_log();
  constexpr timespec kPause = {0, 20'000'000};
  constexpr unsigned kMostTries = 3000;
  if (!(python::waits_for_torch_nn() || watch::waits_for_torch()) || tries >= kMostTries) {
    const unsigned look = sleep_before_look_ms();
    const uint64_t longest =
        std::min({uint64_t{kLookForRequestMs}, watch::flush_interval_ms(), recording::flush_interval_ms()});
    const uint64_t ms = look == 0 ? longest : std::min<uint64_t>(look, longest);
    const timespec pause = timespec_of_ns(ms * 1'000'000);
    return futex_wait(g_wake, seen, &pause);
  }
  ++tries;
  futex_wait(g_wake, seen, &kPause);
  run_if_memory_lasts([] {
    python::attach();
    if (watch::waits_for_torch()) watch::ask_by_gil_thread();
  });
}

// True: there is something to write.
bool look_for_request() {
  watch::look_at_step_file();
  const Request asked = take_request_file();
  switch (asked) {
    case Request::none:
      return false;
    case Request::stop:
      stacks::stop_capturing();
      return false;
    case Request::stop_all:
      stop_all();
      return false;
    case Request::start:
      start_all();
      return false;
    case Request::stop_values:
      watch::stop_values();
      return false;
    case Request::record:
      recording::switch_on();
      return false;
    case Request::no_record:
      recording::switch_off();
      return false;
    case Request::start_values:
      watch::start_values();
      return false;
    case Request::dump:
    case Request::top:
    case Request::top_cheap:
      break;
  }
  g_requests.asked = asked;
  return true;
}

bool serve_descriptors(void (*function)(void*), void* argument);

// Whose table the files of the collector are in. Without one of its own it cannot help other threads either.
void look_at_own_table() {
  const bool own = has_own_descriptors();
  set_coverage(Subject::descriptors, own ? Seen::yes : Seen::no,
               own ? "" : "the system gives no other table: files take numbers of the program's while they are open");
  set_descriptor_server(own ? serve_descriptors : nullptr);
}

void write_dump_for(const DumpRequest& request) {
  char path[PATH_MAX];
  write_with_recording(request, path, sizeof(path));
}

void do_job(Job job, Waiter* waiter) {
  switch (job) {
    case Job::waiter:
      return serve(*waiter);
    case Job::signal:
      return write_for_signal();
    case Job::near_limit:
      return write_dump_for(near_limit_request(g_requests.near));
    case Job::request:
      return write_dump_for(asked_request());
    case Job::growth:
      return write_at_growth();
    case Job::none:
    case Job::stop:
      break;
  }
}

void look_and_wait(uint32_t seen, unsigned& tries, const char*& shown) {
  show_own_handler(shown);
  g_requests.is_near = limit_is_near(g_requests.near);
  if (!g_requests.is_near && !look_for_request()) wait_for_job(seen, tries);
}

// Under a filter that the program has put before all its threads since this one began: it may not know the calls that
// a file takes. Whoever waits is told that there is nothing, and nothing else is done.
void sit_out(Job job, Waiter* waiter, uint32_t seen) {
  if (job == Job::waiter) finish_waiting(*waiter);
  if (job == Job::none) futex_wait(g_wake, seen);
}

void run_collector() {
  look_at_own_table();
  open_settings_file();
  run_if_memory_lasts([] { python::attach(); });
  unsigned tries = 0;
  const char* shown = rules::kCollectorName;
  for (;;) {
    const uint32_t seen = g_wake.load(std::memory_order_acquire);
    Waiter* waiter = nullptr;
    const Job job = next_job(&waiter);
    if (job == Job::stop) return;
    if (files_are_filtered()) {
      sit_out(job, waiter, seen);
    } else if (job == Job::none) {
      look_and_wait(seen, tries, shown);
    } else {
      do_job(job, waiter);
    }
  }
}

std::atomic<uint32_t> g_collector_ended{0};

void* run_collector_and_end(void*) {
  {
    const HelperThreadScope thread(rules::kCollectorName);
    run_collector();
  }
  g_collector_ended.store(1, std::memory_order_release);
  wake_programs_side();
  return nullptr;
}

// The thread in the program's table (support/programs_side.h). Where the system gives no other table, it is the
// collector as well.
void* run_programs_side(void*) {
  const HelperThreadScope thread(rules::kProgramsSideName);
  g_collector_ended.store(0, std::memory_order_relaxed);
  open_programs_side();
  pthread_t collector;
  if (start_helper_thread(kCollectorStackBytes, run_collector_and_end, nullptr, &collector, Descriptors::own)) {
    serve_programs_side(g_collector_ended);
    pthread_join(collector, nullptr);
    return nullptr;
  }
  close_programs_side();  // nobody asks
  pthread_setname_np(pthread_self(), rules::kCollectorName);
  run_collector();
  return nullptr;
}

// g_control is held.
bool start_thread() {
  if (g_thread.running) return true;
  g_thread.stop = false;
  g_thread.starting = true;
  g_thread.running = start_helper_thread(kProgramsSideStackBytes, run_programs_side, nullptr, &g_thread.programs_side);
  if (!g_thread.running) g_thread.starting = false;
  return g_thread.running;
}

// A program may fork as its first act; one second is for a machine under load.
bool is_starting() {
  const MutexGuard guard(g_control);
  return g_thread.starting;
}
void wait_until_started() {
  constexpr timespec kMillisecond = {0, 1'000'000};
  for (int i = 0; i < 1000 && is_starting(); ++i) nanosleep(&kMillisecond, nullptr);
}

// For a moment: the collector has nothing to do, but its end may take what other fork handlers hold. False: it stays.
bool stop_collector() {
  pthread_t thread;
  {
    const MutexGuard guard(g_control);
    if (!g_thread.running || g_thread.busy || g_thread.starting) return false;
    thread = g_thread.programs_side;
    g_thread.stop = true;
  }
  futex_change_and_wake(g_wake);
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  if (pthread_timedjoin_np(thread, nullptr, &until) == 0) {
    wait_until_ended_threads_are_gone();
    return true;
  }
  const MutexGuard guard(g_control);
  if (g_thread.running) {
    g_thread.stop = false;
    return false;
  }
  pthread_detach(thread);
  return true;
}

void start_again() {
  const MutexGuard guard(g_control);
  start_thread();
}

// Where there is no collector, the asking thread stands in for it.
void work_here(Waiter& waiter) {
  if (files_are_filtered()) return;
  const InsideScope inside;
  const SignalsBlocked blocked;
  do_work(waiter);
}

// False: there is no collector.
bool queue(Waiter& waiter) {
  {
    const MutexGuard guard(g_control);
    if (!g_started || !start_thread()) return false;
    Waiter** last = &g_thread.first_waiter;
    while (*last != nullptr) last = &(*last)->next;
    *last = &waiter;
  }
  futex_change_and_wake(g_wake);
  return true;
}

void queue_and_wait(Waiter& waiter) {
  if (!queue(waiter)) return work_here(waiter);
  while (waiter.done.load(std::memory_order_acquire) == 0) futex_wait(waiter.done, 0);
}

// Between jobs the collector reads a file within microseconds; in the middle of one it would take too long. What has
// waited in vain is taken back.
bool take_back(const Waiter& waiter) {
  const MutexGuard guard(g_control);
  for (Waiter** link = &g_thread.first_waiter; *link != nullptr; link = &(*link)->next) {
    if (*link != &waiter) continue;
    *link = waiter.next;
    return true;
  }
  return false;
}

bool collector_works() {
  const MutexGuard guard(g_control);
  return g_thread.running && g_thread.busy;
}

bool is_idle() {
  const MutexGuard guard(g_control);
  return g_thread.running && !g_thread.busy && !g_thread.starting && !g_thread.stop && g_thread.first_waiter == nullptr;
}

bool serve_descriptors(void (*function)(void*), void* argument) {
  constexpr uint64_t kPatienceNs = 50'000'000;
  if (!is_idle()) return false;
  Waiter waiter;
  waiter.work = function;
  waiter.argument = argument;
  if (!queue(waiter)) return false;
  const uint64_t until = monotonic_ns() + kPatienceNs;
  while (waiter.done.load(std::memory_order_acquire) == 0 && futex_wait_until(waiter.done, 0, until)) {
  }
  if (waiter.done.load(std::memory_order_acquire) == 0 && take_back(waiter)) return false;
  while (waiter.done.load(std::memory_order_acquire) == 0) futex_wait(waiter.done, 0);
  return true;
}

}  // namespace

void set_dump_function_for_test(DumpFunction function) { g_write = function; }

bool start_collector() {
  start_process_info();
  const MutexGuard guard(g_control);
  g_started = true;
  return start_thread();
}

void request_from_signal() {
  g_requests.signal_ns.store(monotonic_ns(), std::memory_order_relaxed);
  g_requests.signals.fetch_add(1, std::memory_order_release);
  futex_change_and_wake(g_wake);
}

int request_and_wait(Reason reason, const char* detail, char* path_out, size_t path_size, SiteId site) {
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
  Waiter waiter;
  waiter.work = [](void* function) { reinterpret_cast<void (*)()>(function)(); };
  waiter.argument = reinterpret_cast<void*>(work);
  queue_and_wait(waiter);
}

bool write_failure(const dump::Failure& failure) {
  failure_is_dumped();
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

namespace {

// What a thread waits for whose wait may be given up: outlives that.
struct NearLimit {
  Waiter waiter;
  dump::Failure failure;
  SpinLock taken;  // only ever tried
  std::atomic<bool> given_up{false};

  bool take() {
    if (taken.try_lock()) return true;
    bool was_given_up = true;
    return waiter.done.load(std::memory_order_acquire) != 0 && given_up.compare_exchange_strong(was_given_up, false);
  }
  void leave() {
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

void request_at_growth() {
  g_requests.growth_ns.store(monotonic_ns(), std::memory_order_relaxed);
  g_requests.growths.fetch_add(1, std::memory_order_release);
  futex_change_and_wake(g_wake);
}

void wake_collector() { futex_change_and_wake(g_wake); }

bool end_for_a_moment() {
  constexpr int kMostTries = 1000;
  constexpr timespec kMillisecond = {0, 1'000'000};
  wait_until_started();
  for (int i = 0; i < kMostTries && collector_works(); ++i) nanosleep(&kMillisecond, nullptr);
  return stop_collector();
}

void begin_again() {
  const MutexGuard guard(g_control);
  if (start_thread()) return;
  set_coverage(Subject::signal_trigger, Seen::no, "no thread can be made any more: the program has changed namespaces");
}

void before_fork() {
  t_gate_held = dump::lock_fork_gate_for_fork();
  t_restart_after_fork = false;
  if (!fork_would_warn()) return;
  wait_until_started();
  t_restart_after_fork = stop_collector();
}

void after_fork_in_parent() {
  if (t_gate_held) dump::unlock_fork_gate();
  if (t_restart_after_fork && !call_after_fork_returned(start_again)) start_again();
}

void after_fork_in_child() {
  if (g_started) start_again();
}

}  // namespace tensorscope::collector
