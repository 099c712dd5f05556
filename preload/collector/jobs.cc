// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs.h"

#include <limits.h>
#include <stdio.h>

#include <utility>

#include "collector/all_switch.h"
#include "collector/child_dumps.h"
#include "collector/features.h"
#include "collector/memory_limits.h"
#include "collector/refusal.h"
#include "collector/request_file.h"
#include "collector/write_dump.h"
#include "python/gil_thread.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/option_values.h"
#include "support/options.h"
#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {

namespace {

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
  uint32_t ancestors_served = 0;
  DumpOfAncestor ancestor;   // who asked last
  uint64_t own_dump_ns = 0;  // when the last dump began that somebody else asked for; 0: there was none
};
constinit Requests g_requests;
FreshInChild g_fresh_requests{g_requests};

bool write_real_dump(const DumpRequest& request, char* path, size_t path_size) {
  char full[PATH_MAX];
  const bool ok = write_dump(request, full);
  snprintf(path, path_size, "%s", full);
  return ok;
}
DumpFunction g_write = write_real_dump;

// Who asks for a dump while all is stopped is told so; what is written by itself is not missed.
bool write_with_recording(const DumpRequest& request, char* path, size_t path_size) {
  const bool asked = (request.reason == Reason::signal || request.reason == Reason::call) && !request.ancestor;
  if (all_is_stopped()) {
    if (asked) refuse(request, "no dump: stopped by tensorscope stop --all");
    return false;
  }
  if (asked && !request.passing) g_requests.own_dump_ns = monotonic_ns();
  features_before_dump();
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

// Whoever asked for dumps of a whole family (snapshot --children, a signal to a process group) has asked here, too.
void write_for_ancestor() {
  constexpr uint64_t kSameMomentNs = 1'000'000'000;
  const uint64_t now = monotonic_ns(), own = g_requests.own_dump_ns;
  if (own != 0 && now - own < kSameMomentNs) return;
  const DumpOfAncestor& ancestor = g_requests.ancestor;
  if (!ancestor.all && !has_grown_since_own_dump()) return;
  char detail[64], path[PATH_MAX];
  snprintf(detail, sizeof detail, "dump %u of process %u", ancestor.number, ancestor.pid);
  DumpRequest request = {Reason::call, detail, now};
  request.ancestor = &ancestor;
  write_with_recording(request, path, sizeof(path));
  note_own_dump();
}

DumpRequest asked_request() {
  const Request asked = std::exchange(g_requests.asked, Request::none);
  const bool top = asked == Request::top || asked == Request::top_cheap;
  DumpRequest request = {Reason::call, top ? rules::kDetailOfTop : "tensorscope snapshot --no-signal", monotonic_ns()};
  request.by_file = true;
  request.passing = top;
  request.names = asked != Request::top_cheap;
  return request;
}

void serve(Waiter& waiter) {
  do_work(waiter);
  finish_waiting(waiter);
}

void write_dump_for(const DumpRequest& request) {
  char path[PATH_MAX];
  write_with_recording(request, path, sizeof(path));
}

// What is asked for by counting: one dump serves all that came before it.
bool take_request(const std::atomic<uint32_t>& asked, uint32_t& served) {
  const uint32_t count = asked.load(std::memory_order_acquire);
  return std::exchange(served, count) != count;
}

// True: there is something to write.
bool look_for_request() {
  features_look();
  const Asked asked = take_request_file();
  switch (asked.request) {
    case Request::none:
      return false;
    case Request::stop_all:
      stop_all();
      return false;
    case Request::start:
      start_all();
      return false;
    case Request::of_feature:
      asked.command->run();
      return false;
    case Request::dump:
    case Request::top:
    case Request::top_cheap:
      break;
  }
  g_requests.asked = asked.request;
  return true;
}

}  // namespace

void set_dump_function_for_test(DumpFunction function) { g_write = function; }

DumpRequest near_limit_request(const dump::Failure& near) {
  return {Reason::low_memory, near.error, near.failed_ns, &near};
}

void do_work(Waiter& waiter) {
  if (waiter.work) return (*waiter.work)();
  char path[PATH_MAX] = "";
  waiter.ok = write_with_recording(waiter.request, path, sizeof(path));
  if (waiter.ok && waiter.path != nullptr && waiter.path_size > 0) snprintf(waiter.path, waiter.path_size, "%s", path);
}

void finish_waiting(Waiter& waiter) {
  futex_change_and_wake(waiter.done);  // from here on the waiter may be gone
  python::wake_lender();
}

Job counted_job() {
  if (std::exchange(g_requests.is_near, false)) return Job::near_limit;
  if (take_request(g_requests.signals, g_requests.signals_served)) return Job::signal;
  if (g_requests.asked != Request::none) return Job::request;
  const uint32_t by_ancestors = ancestors_requests(g_requests.ancestor);
  if (std::exchange(g_requests.ancestors_served, by_ancestors) != by_ancestors) return Job::ancestor;
  return take_request(g_requests.growths, g_requests.growths_served) ? Job::growth : Job::none;
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
    case Job::ancestor:
      return write_for_ancestor();
    case Job::growth:
      return write_at_growth();
    case Job::none:
    case Job::stop:
      break;
  }
}

bool look_for_work() {
  g_requests.is_near = limit_is_near(g_requests.near);
  return g_requests.is_near || look_for_request();
}

void note_signal() {
  g_requests.signal_ns.store(monotonic_ns(), std::memory_order_relaxed);
  g_requests.signals.fetch_add(1, std::memory_order_release);
}

void note_growth() {
  g_requests.growth_ns.store(monotonic_ns(), std::memory_order_relaxed);
  g_requests.growths.fetch_add(1, std::memory_order_release);
}

}  // namespace tensorscope::collector
