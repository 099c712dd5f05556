// SPDX-License-Identifier: Apache-2.0
#include "collector/collector_thread.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "collector/features.h"
#include "collector/fork_restart.h"
#include "collector/jobs.h"
#include "collector/log_flush.h"
#include "collector/memory_limits.h"
#include "collector/request_file.h"
#include "collector/settings_file.h"
#include "collector/wake.h"
#include "dump/fork_gate.h"
#include "support/call_filter.h"
#include "support/clock.h"
#include "support/coverage.h"
#include "support/ended_threads.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/helper_thread.h"
#include "support/locks/futex.h"
#include "support/locks/mutex.h"
#include "support/private_descriptor_table.h"
#include "support/process_info.h"
#include "support/programs_side.h"
#include "tensorscope/rules/own_handler.h"
#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {

namespace {

// Phase 1 needs some 64 KiB; the rest is never touched. glibc takes the thread's static TLS out of it, too.
constexpr size_t kCollectorStackBytes = size_t{1} << 20;
constexpr size_t kProgramsSideStackBytes = size_t{512} << 10;

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
  flush_features();
  write_waiting_log();
  constexpr timespec kPause = {0, 20'000'000};
  constexpr unsigned kMaxTries = 3000;
  if (!any_feature_waits_for_torch() || tries >= kMaxTries) {
    const unsigned look = sleep_before_look_ms();
    const uint64_t longest = std::min(uint64_t{kLookForRequestMs}, flush_interval_of_features_ms());
    const uint64_t ms = look == 0 ? longest : std::min<uint64_t>(look, longest);
    const timespec pause = timespec_of_ns(ms * 1'000'000);
    return sleep_until_woken(seen, &pause);
  }
  ++tries;
  sleep_until_woken(seen, &kPause);
  run_or_abandon_on_oom([] { features_look_for_torch(); });
}

bool serve_descriptors(FunctionRef<void()> function);

// Whose table the files of the collector are in. Without one of its own it cannot help other threads either.
void look_at_own_table() {
  const bool own = has_private_descriptors();
  set_coverage(Subject::descriptors, own ? Seen::yes : Seen::no,
               own ? "" : "the system gives no other table: files take numbers of the program's while they are open");
  set_descriptor_server(own ? serve_descriptors : nullptr);
}

void look_and_wait(uint32_t seen, unsigned& tries, const char*& shown) {
  show_own_handler(shown);
  if (!look_for_work()) wait_for_job(seen, tries);
}

// Under a filter that the program has put before all its threads since this one began: it may not know the calls that
// a file takes. Whoever waits is told that there is nothing, and nothing else is done.
void sit_out(Job job, Waiter* waiter, uint32_t seen) {
  if (job == Job::waiter) finish_waiting(*waiter);
  if (job == Job::none) sleep_until_woken(seen);
}

void run_collector() {
  look_at_own_table();
  open_settings_file();
  share_wake_page();
  run_or_abandon_on_oom([] { begin_features(); });
  unsigned tries = 0;
  const char* shown = rules::kCollectorName;
  for (;;) {
    const uint32_t seen = wake_count();
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
  if (files_are_filtered()) return false;
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
  wake_collector();
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

bool serve_descriptors(FunctionRef<void()> function) {
  constexpr uint64_t kPatienceNs = 50'000'000;
  if (!is_idle()) return false;
  Waiter waiter;
  waiter.work = &function;
  if (!queue(waiter)) return false;
  const uint64_t until = monotonic_ns() + kPatienceNs;
  while (waiter.done.load(std::memory_order_acquire) == 0 && futex_wait_until(waiter.done, 0, until)) {
  }
  if (waiter.done.load(std::memory_order_acquire) == 0 && take_back(waiter)) return false;
  while (waiter.done.load(std::memory_order_acquire) == 0) futex_wait(waiter.done, 0);
  return true;
}

}  // namespace

bool start_collector() {
  start_process_info();
  const MutexGuard guard(g_control);
  g_started = true;
  return start_thread();
}

bool queue(Waiter& waiter) {
  {
    const MutexGuard guard(g_control);
    if (!g_started || !start_thread()) return false;
    Waiter** last = &g_thread.first_waiter;
    while (*last != nullptr) last = &(*last)->next;
    *last = &waiter;
  }
  wake_collector();
  return true;
}

bool suspend(unsigned patience_ms) {
  constexpr timespec kMillisecond = {0, 1'000'000};
  wait_until_started();
  for (unsigned i = 0; i < patience_ms && collector_works(); ++i) nanosleep(&kMillisecond, nullptr);
  return stop_collector();
}

void resume() {
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
  features_after_fork_in_child();
  if (g_started) start_again();
}

}  // namespace tensorscope::collector
