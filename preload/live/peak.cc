// SPDX-License-Identifier: Apache-2.0
#include "live/peak.h"

#include <algorithm>
#include <atomic>

#include "live/serials.h"
#include "live/site_table.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::live {

namespace {

constexpr uint64_t kMinStep = uint64_t{64} << 10;

constinit SpinLock g_keeping;  // guards what follows
constinit KeptPeak g_peak;
FreshInChild g_fresh_peak{g_peak};
struct PeakSerial {
  std::atomic<Serial> at{0};
};
constinit PeakSerial g_peak_serial;
FreshInChild g_fresh_peak_serial{g_peak_serial};

uint64_t step_above(uint64_t bytes) { return std::max(bytes / 100, kMinStep); }

uint64_t live_on(DeviceSlot slot) { return g_devices.row(slot).bytes_live.load(std::memory_order_relaxed); }

struct LiveNow {
  uint64_t bytes = 0;
  DeviceSlot devices = 0;
  LiveNow() {
    for (; devices < DeviceTable::kSlots && g_devices.used(devices); ++devices) bytes += live_on(devices);
  }
};

// g_keeping is held.
void keep(const LiveNow& now) {
  g_sites.keep_counters();
  g_peak_serial.at.store(newest_serial(), std::memory_order_relaxed);
  g_peak.ns = monotonic_ns();
  g_peak.steps = step_count();
  g_peak.bytes = now.bytes;
  for (DeviceSlot slot = 0; slot < now.devices; ++slot) g_peak.devices[slot] = live_on(slot);
}

// How much each device may grow until the next look: all together as much as makes a new peak. Half a step is the
// least, so that of many devices each one's allocations are not looked at one by one.
void set_marks(const LiveNow& now) {
  const uint64_t step = step_above(g_peak.bytes);
  const uint64_t next = g_peak.bytes + step;
  const uint64_t left = next - std::min(next, now.bytes);
  const uint64_t each = std::max<uint64_t>(left, step / 2) / std::max<DeviceSlot>(now.devices, 1);
  for (DeviceSlot slot = 0; slot < now.devices; ++slot) g_devices.new_peak_above(slot, live_on(slot) + each);
}

}  // namespace

void keep_new_peak() {
  if (!g_keeping.try_lock()) return;
  const LiveNow now;
  if (g_peak.ns == 0 || now.bytes > g_peak.bytes + step_above(g_peak.bytes)) keep(now);
  set_marks(now);
  g_keeping.unlock();
}

Serial peak_serial() { return g_peak_serial.at.load(std::memory_order_relaxed); }

KeptPeak kept_peak() { return g_peak; }
bool lock_peak() { return g_keeping.lock(); }
void unlock_peak() NO_THREAD_SAFETY_ANALYSIS { g_keeping.unlock(); }

void begin_peak_in_child() { keep_new_peak(); }

}  // namespace tensorscope::live
