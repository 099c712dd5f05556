// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/session.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "devices/cupti/call_ids.h"
#include "devices/cupti/cupti_library.h"
#include "devices/cupti/launch_sites.h"
#include "devices/cupti/limited_work.h"
#include "devices/cupti/records.h"
#include "devices/cupti/virtual_memory.h"
#include "live/site_table.h"
#include "stacks/capture.h"
#include "support/clock.h"
#include "support/coverage.h"
#include "support/log.h"
#include "support/message.h"
#include "support/options.h"
#include "support/pages.h"
#include "support/state.h"

namespace tensorscope::cupti {

constinit std::atomic<Stage> g_stage{Stage::off};

namespace {

constexpr uint64_t kStartLimitNs = 5'000'000'000;
constexpr uint64_t kFlushLimitNs = 2'000'000'000;

Functions g_functions;  // written before `running`
Subscriber* g_subscriber = nullptr;
std::atomic<uint64_t> g_began_ns{0}, g_ended_ns{0};
std::atomic<uint32_t> g_version{0};
std::atomic<int64_t> g_clock_offset_ns{0};  // CUPTI's clock less the monotonic one, while it was ours

constinit LimitedWork g_work;

bool with_launches() { return options().cupti == CuptiMode::activity; }

void cover(Seen seen, const char* detail) {
  set_coverage(Subject::driver_memory, seen, detail);
  if (with_launches()) set_coverage(Subject::launches, seen, detail);
}

// In the program's thread that calls CUDA.
void on_call(void*, Domain domain, uint32_t id, const CallData* call) {
  const bool virtual_call = is_virtual_call(domain, id);
  if (call->site == kBegins) {
    if (virtual_call) return g_launch_sites.note(call->correlation, kKnownFromTheCall);
    if (g_launch_sites.knows(call->correlation)) return;
    HookScope scope;
    if (scope) g_launch_sites.note(call->correlation, live::g_sites.intern(stacks::capture(stacks::kWithNative)));
  } else if (virtual_call) {
    HookScope scope;
    const bool creates = VirtualCall(id) == VirtualCall::create;
    if (scope) virtual_call_ended(id, *call, creates ? live::g_sites.intern(stacks::capture(stacks::kWithNative)) : 0);
  }
}

template <size_t count>
void note_sites_of(const CallRange (&ranges)[count]) {
  for (const CallRange& range : ranges) {
    for (uint32_t call = range.first; call <= range.last; ++call) {
      g_functions.EnableCallback(1, g_subscriber, range.domain, call);
    }
  }
}

constexpr Kind kLaunchKinds[] = {kConcurrentKernel, kMemcpy, kPeerMemcpy, kMemset};

void end(const char* detail, Seen seen) {
  uint64_t going_on = 0;
  g_ended_ns.compare_exchange_strong(going_on, monotonic_ns());
  g_stage.store(Stage::ended, std::memory_order_release);
  cover(seen, detail);
}

const char* text_of(Result result) {
  const char* text = nullptr;
  if (g_functions.GetResultString == nullptr || g_functions.GetResultString(result, &text) != 0 || text == nullptr) {
    return "unnamed error";
  }
  return text;
}

void refuse(const char* what, Result result) {
  say("CUPTI records nothing: %s returned %d (%s). Everything else is still recorded.", what, result, text_of(result));
  end("CUPTI could not be started", Seen::no);
}

// Whoever takes CUPTI over may give it another clock.
void compare_clocks() {
  uint64_t ns = 0;
  if (g_functions.GetTimestamp(&ns) == 0) g_clock_offset_ns.store(int64_t(ns - monotonic_ns()));
}

bool subscribe() {
  const Result result = g_functions.Subscribe(&g_subscriber, on_call, nullptr);
  if (result == kMultipleSubscribers) {
    say("CUPTI is already used by another tool in this process (torch.profiler, Nsight, a debugger) and is not "
        "recorded. Everything else is still recorded.");
    end("another tool in this process uses CUPTI", Seen::no);
    return false;
  }
  if (result != 0) refuse("cuptiSubscribe", result);
  return result == 0;
}

bool record_activity() {
  Result result = g_functions.ActivityRegisterCallbacks(on_buffer_request, on_buffer_complete);
  const char* what = "cuptiActivityRegisterCallbacks";
  if (result == 0) {
    result = g_functions.ActivityEnable(kMemory);
    what = "cuptiActivityEnable";
  }
  for (const Kind kind : kLaunchKinds) {
    if (result == 0 && with_launches()) result = g_functions.ActivityEnable(kind);
  }
  if (result == 0) return true;
  g_functions.ActivityDisable(kMemory);
  g_functions.Unsubscribe(g_subscriber);
  refuse(what, result);
  return false;
}

void start() {
  if (!g_memory.start() || !g_virtual_memory.start() || !g_launch_sites.start() ||
      (with_launches() && !g_launches.start())) {
    say("TENSORSCOPE_CUPTI: not enough memory for its tables. Everything else is still recorded.");
    return end("no memory for the tables", Seen::no);
  }
  if (const Status opened = open_library(g_functions); !opened) {
    say("TENSORSCOPE_CUPTI: %s. CUPTI records nothing; everything else is still recorded.", opened.why());
    return end(opened.why(), Seen::no);
  }
  set_record_functions(g_functions);
  uint32_t version = 0;
  if (g_functions.GetVersion(&version) == 0) g_version.store(version, std::memory_order_relaxed);
  if (!subscribe()) return;
  note_sites_of(kMemoryCalls);
  note_sites_of(kVirtualCalls);
  if (with_launches()) note_sites_of(kActivityCalls);
  if (!record_activity()) return;
  compare_clocks();
  g_began_ns.store(monotonic_ns(), std::memory_order_relaxed);
  cover(Seen::yes, "");
  log(LogLevel::info, "CUPTI {} records {}", version, with_launches() ? "memory, kernels and copies" : "memory");
  Stage starting = Stage::starting;
  g_stage.compare_exchange_strong(starting, Stage::running, std::memory_order_acq_rel);
}

void flush() { g_functions.ActivityFlushAll(kFlushForced); }

void stop() {
  g_functions.ActivityDisable(kMemory);
  if (with_launches()) {
    for (const Kind kind : kLaunchKinds) g_functions.ActivityDisable(kind);
  }
  flush();
  g_functions.Unsubscribe(g_subscriber);
}

void add_virtual_memory(Activity& activity) {
  std::vector<MemoryEvent> pieces(g_virtual_memory.live() + 16);
  pieces.resize(g_virtual_memory.copy(pieces.data(), pieces.size()));
  for (MemoryEvent& piece : pieces) {
    piece.at_ns += uint64_t(activity.clock_offset_ns);
    piece.process = uint32_t(getpid());
  }
  activity.memory.insert(activity.memory.end(), pieces.begin(), pieces.end());
  activity.totals.lost += g_virtual_memory.lost();
}

}  // namespace

void prepare() {
  if (options().cupti == CuptiMode::off) return;
  cover(Seen::not_applicable, "the program has not used CUDA");
  g_stage.store(Stage::wanted, std::memory_order_release);
}

void cuda_is_used(Wait wait) {
  Stage wanted = Stage::wanted;
  if (!g_stage.compare_exchange_strong(wanted, Stage::starting, std::memory_order_acq_rel)) return;
  InsideScope inside;
  g_work.run(start, wait == Wait::yes ? kStartLimitNs : 0);
}

void give_up() {
  constexpr timespec kMillisecond = {0, 1'000'000};
  for (int i = 0; i < 5000 && g_stage.load(std::memory_order_acquire) == Stage::starting; ++i) {
    nanosleep(&kMillisecond, nullptr);
  }
  Stage running = Stage::running;
  if (!g_stage.compare_exchange_strong(running, Stage::ended, std::memory_order_acq_rel)) return;
  InsideScope inside;
  stop();
  end("another tool in this process took over CUPTI; later events are not recorded", Seen::partly);
  say("another tool in this process (torch.profiler?) takes over CUPTI; tensorscope's CUPTI recording ends here.");
}

void look(Activity& activity) {
  activity.began_ns = g_began_ns.load(std::memory_order_relaxed);
  if (activity.began_ns == 0) return;
  if (g_stage.load(std::memory_order_acquire) == Stage::running) {
    compare_clocks();
    activity.flushed = g_work.run(flush, kFlushLimitNs);
  }
  activity.clock_offset_ns = g_clock_offset_ns.load(std::memory_order_relaxed);
  constexpr size_t kMore = 1024;  // records may still come
  activity.memory.resize(g_memory.live() + kMore);
  activity.memory.resize(g_memory.copy(activity.memory.data(), activity.memory.size(), activity.totals));
  add_virtual_memory(activity);
  activity.with_launches = with_launches();
  activity.launches.resize(activity.with_launches ? g_launches.size() + kMore : 0);
  activity.launches.resize(g_launches.copy(activity.launches.data(), activity.launches.size()));
  activity.ended_ns = g_ended_ns.load(std::memory_order_relaxed);
  activity.version = g_version.load(std::memory_order_relaxed);
  activity.recorded = true;
}

void after_fork_in_child() {
  const Stage stage = g_stage.load(std::memory_order_relaxed);
  if (stage == Stage::off || stage == Stage::wanted) return;
  g_memory.forget_in_child();
  g_virtual_memory.forget_in_child();
  g_launches.forget_in_child();
  g_began_ns.store(0, std::memory_order_relaxed);
  end("a forked child cannot use the CUDA of its parent", Seen::not_applicable);
}

}  // namespace tensorscope::cupti
