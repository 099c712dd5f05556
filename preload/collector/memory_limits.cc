// SPDX-License-Identifier: Apache-2.0
#include "collector/memory_limits.h"

#include <stdio.h>

#include <algorithm>
#include <atomic>

#include "collector/collector.h"
#include "collector/growth_watch.h"
#include "collector/memory_watch.h"
#include "collector/near_limit_dump.h"
#include "collector/wake.h"
#include "dump/shared_files.h"
#include "live/device_table.h"
#include "live/tracker.h"
#include "oom/failure_limits.h"
#include "support/clock.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/locks/spin_lock.h"
#include "support/options.h"
#include "support/system_limits.h"

namespace tensorscope::collector {

namespace {

using live::DeviceSlot;
using live::DeviceTable;
using live::g_devices;

constexpr unsigned kLongestWaitMs = 10'000;

constinit SpinLock g_looking;  // only ever tried; whose thread has it owns what follows
constinit LimitReader g_reader;
// When to look holds in a forked child as well.
constinit uint64_t g_limits_above = UINT64_MAX;   // live bytes of the CPU
constinit uint64_t g_shared_mapped = 0;           // of the last look of the collector
constinit std::atomic<uint64_t> g_look_at_ns{0};  // 0: never

// What this process was told, and has written.
struct Watches {
  MemoryWatch memory;
  GrowthWatch growth;
  oom::FailureLimits dumps;            // of limits that are near: a loop may come near one in each step
  std::atomic<uint64_t> failed_ns{0};  // 0: nothing did
  KeptFiles kept;                      // collector
};
constinit Watches g_watches;

class Look {
 public:
  Look() : mine_(g_looking.try_lock()) {}
  ~Look() {
    if (mine_) g_looking.unlock();
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  bool mine_;
};

uint64_t live_bytes(DeviceSlot slot) { return g_devices.row(slot).bytes_live.load(std::memory_order_relaxed); }

uint64_t live_heap() {
  const uint64_t live = live_bytes(DeviceTable::kCpu);
  return live - std::min(live, g_devices.row(DeviceTable::kCpu).bytes_mapped.load(std::memory_order_relaxed));
}

struct AllDevices {
  uint64_t live = 0;
  size_t devices = 0;
  AllDevices() {
    for (DeviceSlot slot = 0; slot < DeviceTable::kSlots && g_devices.used(slot); ++slot) {
      live += live_bytes(slot);
      ++devices;
    }
  }
};

// By the thread that looks. A device that is not there yet is looked at with its first allocation.
void set_marks() {
  const ShareOrSize& growth = options().growth;
  const AllDevices all;
  const uint64_t step = growth.is_set() ? g_watches.growth.step(all.live, all.devices, growth) - 1 : 0;
  for (DeviceSlot slot = 0; slot < DeviceTable::kSlots; ++slot) {
    uint64_t mark = UINT64_MAX;
    if (growth.is_set()) mark = g_devices.used(slot) ? live_bytes(slot) + step : 0;
    if (slot == DeviceTable::kCpu) mark = std::min(mark, g_limits_above);
    g_devices.look_above(slot, mark);
  }
}

// A text for each set of limits, written when it is first met.
void record_coverage(const SystemMemory& memory) {
  static constinit char texts[1 << kWatchedLimitsCount][80] = {};
  unsigned set = 0;
  for (size_t i = 0; i < kWatchedLimitsCount; ++i) set |= unsigned((memory.*kWatchedLimits[i].state).is_set()) << i;
  if (set == 0) return set_coverage(Subject::low_memory, Seen::no, "the system does not report available memory");
  char* const text = texts[set];
  if (text[0] == 0) {
    size_t length = size_t(snprintf(text, sizeof(texts[set]), "watched:"));
    for (size_t i = 0; i < kWatchedLimitsCount; ++i) {
      if ((set >> i & 1) == 0) continue;
      const char* comma = length > sizeof("watched:") ? "," : "";
      length += size_t(snprintf(text + length, sizeof(texts[set]) - length, "%s %s", comma, kWatchedLimits[i].name));
    }
  }
  set_coverage(Subject::low_memory, Seen::yes, text);
}

// As with failures: so many in all, one within a time for each limit.
bool dump_is_due(SystemLimit limit, uint64_t now_ns) {
  oom::FailureLimits::Counts counts;
  const uint64_t interval_ns = uint64_t{options().oom_interval_ms} * 1'000'000;
  const uint64_t failed_ns = g_watches.failed_ns.load(std::memory_order_relaxed);
  if (failed_ns != 0 && now_ns < failed_ns + interval_ns) return false;
  return g_watches.dumps.count(SiteId(limit), now_ns, {options().oom_dumps, interval_ns}, counts);
}

// By the thread that looks. `pending`: bytes that were allocated for a request that is still being answered. True:
// `low` says which limit is near.
bool look_at_limits(uint64_t pending, dump::Failure& low) {
  SystemMemory memory = g_reader.read();
  memory.shared_mapped = g_shared_mapped;
  const uint64_t heap = live_heap();
  const MemoryWatch::Verdict verdict = g_watches.memory.look(memory, heap, pending, options().low_memory);
  const uint64_t live = live_bytes(DeviceTable::kCpu);
  g_limits_above = live + std::min(verdict.look_after, UINT64_MAX - live);
  const uint64_t now = monotonic_ns();
  g_look_at_ns.store(verdict.look_within_ms == 0 ? 0 : now + uint64_t{verdict.look_within_ms} * 1'000'000,
                     std::memory_order_relaxed);
  record_coverage(memory);
  if (verdict.low == SystemLimit::none || !dump_is_due(verdict.low, now)) return false;
  low = {};
  low.kind = dump::Kind::low_memory;
  low.limit = verdict.low;
  low.limit_bytes = verdict.limit;
  low.left_bytes = verdict.left;
  low.error = find_watched(verdict.low)->is_low;
  low.failed_ns = now;
  return true;
}

// Where little of it is left it matters whether this process holds any.
void look_at_shared_memory() {
  const LimitState space = shared_memory();
  const uint64_t low = options().low_memory.of(space.limit);
  g_shared_mapped = space.is_set() && space.left / 4 < low ? dump::shared_bytes_of_this_process() : 0;
}

// Context: hook.
void grown(const live::AllocationAboveMark& allocation) {
  bool peak = false, near = false;
  dump::Failure low;
  {
    const Look look;
    if (!look) return;
    if (allocation.may_wait && live_bytes(DeviceTable::kCpu) > g_limits_above)
      near = look_at_limits(allocation.nbytes, low);
    if (options().growth.is_set()) peak = g_watches.growth.look(AllDevices().live, options().growth);
    set_marks();
  }
  if (peak) request_at_growth();
  if (!near) return;
  low.device = allocation.device;
  low.requested = allocation.nbytes;
  low.site = allocation.context.site;
  low.thread = allocation.context.thread;
  low.node = allocation.context.node;
  write_near_limit(low, kLongestWaitMs);
}

FreshInChild g_fresh_watches{[] {
  make_anew(g_watches);
  g_watches.memory.begin_in_child();
  g_watches.growth.begin_in_child(AllDevices().live);
  if (options().growth.is_set()) set_marks();
}};

}  // namespace

void start_memory_limits() {
  if (!options().low_memory.is_set()) {
    set_coverage(Subject::low_memory, Seen::no, "switched off by TENSORSCOPE_LOW_MEMORY");
    if (!options().growth.is_set()) return;
  }
  if (options().low_memory.is_set()) {  // the first allocation or the collector looks, whichever comes first
    g_limits_above = 0;
    g_look_at_ns.store(1, std::memory_order_relaxed);
  }
  if (const Look look; look) set_marks();
  live::set_growth_function(grown);
  wake_collector();
}

unsigned sleep_before_look_ms() {
  const uint64_t at = g_look_at_ns.load(std::memory_order_relaxed);
  const uint64_t now = monotonic_ns();
  if (at == 0) return 0;
  return at <= now ? 1 : unsigned((at - now) / 1'000'000 + 1);
}

bool limit_is_near(dump::Failure& low) {
  const uint64_t at = g_look_at_ns.load(std::memory_order_relaxed);
  if (at == 0 || monotonic_ns() < at) return false;
  const Look look;
  if (!look) return false;
  look_at_shared_memory();
  // As seldom as the last look wants it, unless so much has gone elsewhere that half of the rest could be taken unseen.
  const uint64_t before = g_limits_above;
  const bool near = look_at_limits(0, low);
  const uint64_t live = live_bytes(DeviceTable::kCpu);
  const uint64_t step = g_limits_above - std::min(g_limits_above, live);
  if (before > live && before - live < 4 * step) g_limits_above = before;
  set_marks();
  return near;
}

void failure_is_dumped() { g_watches.failed_ns.store(monotonic_ns(), std::memory_order_relaxed); }

void growth_dump_written(const char* path) { g_watches.kept.add(path, options().growth_keep); }

}  // namespace tensorscope::collector
