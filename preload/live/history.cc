// SPDX-License-Identifier: Apache-2.0
#include "live/history.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "live/allocation_table.h"
#include "live/device_table.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::live {

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

constinit SpinLock g_adding;  // guards what follows
constinit HistoryPoint g_points[kHistoryPoints];
struct History {
  HistoryRing ring{g_points};
  uint64_t last_ns = 0;                  // of the last moment
  std::atomic<uint64_t> resident{0};     // as it was read last
  std::atomic<uint64_t> resident_ns{0};  // when
};
constinit History g_history;
FreshInChild g_fresh_history{g_history};

size_t devices_in_use() {
  size_t count = 0;
  while (count < DeviceTable::kSlots && g_devices.used(DeviceSlot(count))) ++count;
  return count;
}

// What is old by then is not told as of now.
uint64_t known_resident(uint64_t now_ns) {
  const uint64_t read_ns = g_history.resident_ns.load(std::memory_order_relaxed);
  return now_ns - std::min(read_ns, now_ns) <= 2 * kSecondNs ? g_history.resident.load(std::memory_order_relaxed) : 0;
}

// g_adding is held, so that neither time nor steps go back from point to point.
HistoryPoint moment_at(uint64_t now_ns, MomentKind kind) {
  const StepCount steps = step_count();
  HistoryPoint moment;
  moment.ns = now_ns;
  moment.step = steps.count;
  moment.resident = known_resident(now_ns);
  moment.kind = kind;
  moment.source = steps.source;
  return moment;
}

// The same. The peaks of the next moment begin here.
void add_moment(MomentKind kind) {
  HistoryPoint moment = moment_at(monotonic_ns(), kind);
  const size_t devices = std::min(devices_in_use(), kHistoryDevices);
  for (size_t i = 0; i < devices; ++i) {
    const auto slot = DeviceSlot(i);
    const uint64_t live = g_devices.row(slot).bytes_live.load(std::memory_order_relaxed);
    moment.devices[i] = {live, std::max(live, g_devices.begin_peak_of_moment(slot, live)),
                         g_allocations.bytes_made(slot)};
  }
  g_history.ring.add(moment);
  g_history.last_ns = moment.ns;
}

}  // namespace

void HistoryPoint::add(const HistoryPoint& later) {
  HistoryPoint sum = later.kind == MomentKind::step || kind != MomentKind::step ? later : *this;
  sum.moments = moments + later.moments;
  sum.resident = later.resident != 0 ? later.resident : resident;
  for (size_t i = 0; i < kHistoryDevices; ++i) sum.devices[i].peak = std::max(devices[i].peak, later.devices[i].peak);
  *this = sum;
}

void HistoryRing::add(const HistoryPoint& moment) {
  if (size_ > 0 && points_[size_ - 1].moments < every_) return points_[size_ - 1].add(moment);
  if (size_ == kHistoryPoints) {
    size_ /= 2;
    every_ *= 2;
    for (size_t i = 0; i < size_; ++i) {
      HistoryPoint two = points_[2 * i];
      two.add(points_[2 * i + 1]);
      points_[i] = two;
    }
  }
  points_[size_++] = moment;
}

void history_step() {
  if (!g_adding.try_lock()) return;
  add_moment(MomentKind::step);
  g_adding.unlock();
}

void history_second(uint64_t (*resident_bytes)()) {
  const uint64_t now = monotonic_ns();
  if (now - g_history.resident_ns.load(std::memory_order_relaxed) < kSecondNs) return;
  g_history.resident.store(resident_bytes(), std::memory_order_relaxed);
  g_history.resident_ns.store(now, std::memory_order_relaxed);
  if (!g_adding.try_lock()) return;
  if (now - std::min(g_history.last_ns, now) >= kSecondNs) add_moment(MomentKind::second);
  g_adding.unlock();
}

void copy_history(HistoryCopy& copy, uint64_t now_ns) {
  const size_t in_use = devices_in_use();
  copy.devices = std::min(in_use, kHistoryDevices);
  copy.devices_left_out = in_use - copy.devices;
  const SpinGuard guard(g_adding);
  if (!guard) return;
  const HistoryRing& ring = g_history.ring;
  if (ring.size() > 0) memcpy(copy.points, &ring[0], ring.size() * sizeof(HistoryPoint));
  copy.every = ring.every();
  HistoryPoint& last = copy.points[ring.size()];
  last = moment_at(std::max(now_ns, g_history.last_ns), MomentKind::dump);
  for (size_t i = 0; i < copy.devices; ++i) {
    const auto slot = DeviceSlot(i);
    const DeviceTable::Row& row = g_devices.row(slot);
    const uint64_t live = row.bytes_live.load(std::memory_order_relaxed);
    last.devices[i] = {live, std::max(live, row.peak_of_moment.load(std::memory_order_relaxed)),
                       g_allocations.bytes_made(slot)};
  }
  copy.size = ring.size() + 1;
}

}  // namespace tensorscope::live
